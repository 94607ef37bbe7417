// GAScore: sends and receives the active messages of a node, beside its computing element (a core, or PAMS). Its four
// FSLs are ports here: the words in them are outside, as are `in`, `out` and the memory.
module gascore (
    input  logic clk,
    input  logic rst,
    input  logic [15:0] self,
    // FSL 1: calls
    input  logic [4:0] call_count,
    output logic call_write,
    output logic [31:0] call_data,
    // FSL 2: tokens of handlers that are done
    input  logic return_exists,
    input  logic [7:0] return_data,
    output logic return_read,
    // FSL 3: requests, a lane each
    input  logic [1:0] request_exists,
    input  logic [31:0] request_data_request,
    input  logic [31:0] request_data_reply,
    output logic [1:0] request_read,
    // FSL 4: the lanes that have written a packet's last word in this cycle
    input  logic [4:0] sent_count,
    output logic sent_write,
    output logic [1:0] sent_data,
    // `out`: the words in a lane at the cycle's start
    input  logic [4:0] out_count_request,
    input  logic [4:0] out_count_reply,
    output logic [1:0] out_write,
    output logic [31:0] out_data_request,
    output logic [31:0] out_data_reply,
    output logic [1:0] out_last,
    // `in`
    input  logic [1:0] in_exists,
    input  logic [31:0] in_data_request,
    input  logic [31:0] in_data_reply,
    input  logic [1:0] in_last,
    output logic [1:0] in_read,
    // The memory's port: bytes to write, or none for a read, whose word is there in the next cycle
    output logic [13:0] memory_address,
    output logic [3:0] memory_enable,
    output logic [31:0] memory_data,
    input  logic [31:0] memory_word,
    // The first fault; of two in one cycle the memory's
    output logic [2:0] fault
);
  localparam int REQUEST = 0, REPLY = 1;  // the lanes
  localparam logic [2:0] NONE = 3'd0, OUTSIDE_MEMORY = 3'd1, UNKNOWN_TOKEN = 3'd2;  // faults

  logic token_take, token_available, token_unknown;
  logic [3:0] token;
  logic [15:0] reply_destination;
  logic [1:0] takes_node;

  logic [1:0] transmit_asks, transmit_goes, transmit_granted, fetched;
  logic receive_asks, receive_granted, outside, writing;
  logic [14:0] request_address, reply_address, receive_address;
  logic [3:0] receive_enable;
  logic [31:0] receive_data, fetched_word;

  // FSL 4 has room for the words of both lanes' packets that have begun.
  wire sent_room = sent_count < 5'd14;
  assign sent_write = sent_data != '0;

  assign return_read = return_exists;

  token_buffer token_buffer (
      .clk,
      .rst,
      .take(token_take),
      .source(in_data_request[15:0]),
      .available(token_available),
      .token,
      .asks(takes_node[REPLY]),
      .is_done(request_data_reply[31]),
      .asked(request_data_reply[7:0]),
      .destination(reply_destination),
      .returns(return_exists),
      .returned(return_data),
      .unknown(token_unknown)
  );

  transmit transmit_request (
      .clk,
      .rst,
      .self,
      .exists(request_exists[REQUEST]),
      .data(request_data_request),
      .read(request_read[REQUEST]),
      .takes_node(takes_node[REQUEST]),
      .destination(request_data_request[15:0]),
      .out_count(out_count_request),
      .out_write(out_write[REQUEST]),
      .out_data(out_data_request),
      .out_last(out_last[REQUEST]),
      .sent_room,
      .sent(sent_data[REQUEST]),
      .asks(transmit_asks[REQUEST]),
      .goes(transmit_goes[REQUEST]),
      .granted(transmit_granted[REQUEST]),
      .address(request_address),
      .fetched(fetched[REQUEST]),
      .fetched_word
  );

  transmit transmit_reply (
      .clk,
      .rst,
      .self,
      .exists(request_exists[REPLY]),
      .data(request_data_reply),
      .read(request_read[REPLY]),
      .takes_node(takes_node[REPLY]),
      .destination(reply_destination),
      .out_count(out_count_reply),
      .out_write(out_write[REPLY]),
      .out_data(out_data_reply),
      .out_last(out_last[REPLY]),
      .sent_room,
      .sent(sent_data[REPLY]),
      .asks(transmit_asks[REPLY]),
      .goes(transmit_goes[REPLY]),
      .granted(transmit_granted[REPLY]),
      .address(reply_address),
      .fetched(fetched[REPLY]),
      .fetched_word
  );

  memory_bus memory_bus (.*);

  receive receive (
      .clk,
      .rst,
      .in_exists,
      .in_data_request,
      .in_data_reply,
      .in_last,
      .in_read,
      .token_available,
      .token,
      .token_take,
      .call_count,
      .call_write,
      .call_data,
      .asks(receive_asks),
      .granted(receive_granted),
      .address(receive_address),
      .enable(receive_enable),
      .data(receive_data),
      .writing
  );

  always_ff @(posedge clk) begin
    if (rst) fault <= NONE;
    else if (fault == NONE) begin
      if (outside) fault <= OUTSIDE_MEMORY;
      else if (token_unknown) fault <= UNKNOWN_TOKEN;
    end
  end
endmodule
