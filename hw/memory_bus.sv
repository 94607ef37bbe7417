// GAScore's port of the memory: one access a cycle, in the stages ASK, GRANT, READ or WRITE, FETCH. A stage is a
// register here, which takes what the stage before it held in the cycle before.
module memory_bus (
    input  logic clk,
    input  logic rst,
    // ASK: the transmits and receive; a transmit is answered in the same cycle.
    input  logic [1:0] transmit_asks,
    output logic [1:0] transmit_goes,
    input  logic receive_asks,
    // GRANT: whose access has the port's register at the cycle's end.
    output logic [1:0] transmit_granted,
    input  logic [14:0] request_address,
    input  logic [14:0] reply_address,
    output logic receive_granted,
    input  logic [14:0] receive_address,
    input  logic [3:0] receive_enable,
    input  logic [31:0] receive_data,
    output logic outside,
    // WRITE
    output logic writing,
    // The cycle after FETCH, SEND: a word for a transmit.
    output logic [1:0] fetched,
    output logic [31:0] fetched_word,
    // The memory
    output logic [13:0] memory_address,
    output logic [3:0] memory_enable,
    output logic [31:0] memory_data,
    input  logic [31:0] memory_word
);
  localparam int REQUEST = 0, REPLY = 1;  // the lanes

  logic receive_went;  // last
  logic [1:0] reading, fetching;
  logic [14:0] address;

  wire any_transmit = transmit_asks != '0;
  wire receive_goes = receive_asks && !(any_transmit && receive_went);
  assign transmit_goes[REPLY] = transmit_asks[REPLY] && !receive_goes;
  assign transmit_goes[REQUEST] = transmit_asks[REQUEST] && !transmit_asks[REPLY] && !receive_goes;

  always_ff @(posedge clk) begin
    if (rst) receive_went <= 1'b1;
    else if (receive_goes || any_transmit) receive_went <= receive_goes;
  end

  always_comb begin
    address = request_address;
    if (transmit_granted[REPLY]) address = reply_address;
    if (receive_granted) address = receive_address;
  end
  assign outside = (receive_granted || transmit_granted != '0) && address[14];
  assign writing = memory_enable != '0;

  always_ff @(posedge clk) begin
    transmit_granted <= rst ? '0 : transmit_goes;
    receive_granted <= !rst && receive_goes;
    reading <= rst ? '0 : transmit_granted;
    fetching <= rst ? '0 : reading;
    fetched <= rst ? '0 : fetching;
  end

  always_ff @(posedge clk) begin
    memory_address <= address[13:0];
    memory_enable <= !rst && receive_granted && !outside ? receive_enable : '0;
    memory_data <= receive_data;
    fetched_word <= memory_word;
  end
endmodule
