// PAMS's end of FSL 1: it takes a word in each cycle. In the cycle after a call's last word, COUNT, `counts` is set.
// The call's fields are still there, although the next call's first word is taken.
//
// A word of LOAD goes into the instruction RAM in the cycle in which it is taken. The sequencer reads the RAM one cycle
// before it takes a word. Together: the word is there one cycle after it was taken, as if either waited for its cycle.
module pams_calls (
    input  logic clk,
    input  logic rst,
    // FSL 1
    input  logic exists,
    input  logic [31:0] data,
    output logic read,
    // COUNT
    output logic counts,
    output logic [7:0] handler,
    output logic is_long,
    output logic is_reply,
    output logic [3:0] token,
    output logic [31:0] bytes,
    // LOAD and START: 9 bits of an address, and whether it is past the end
    output logic loads,
    output logic load_outside,
    output logic [9:0] address
);
  localparam logic [7:0] LOAD = 8'hf0;  // a handler code

  typedef enum logic [2:0] {KIND, TOKEN, AT, BYTES, ADDRESS, ARGUMENTS} state_t;
  state_t state;

  logic [3:0] arguments;  // not taken yet
  logic ends;

  assign read = exists;
  assign loads = exists && state == ARGUMENTS && handler == LOAD && !address[9];
  always_comb begin
    ends = 1'b0;
    case (state)
      BYTES: ends = exists && arguments == 4'd0;
      ADDRESS, ARGUMENTS: ends = exists && arguments == 4'd1;
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) state <= KIND;
    else if (exists)
      case (state)
        KIND: state <= TOKEN;
        TOKEN: state <= AT;
        AT: state <= BYTES;
        BYTES: state <= ends ? KIND : ADDRESS;
        default: state <= ends ? KIND : ARGUMENTS;
      endcase
  end

  always_ff @(posedge clk) begin
    counts <= !rst && ends;
    load_outside <= !rst && exists && state == ARGUMENTS && handler == LOAD && address[9];
  end

  always_ff @(posedge clk) begin
    if (exists)
      case (state)
        KIND: begin
          is_long <= data[31];
          is_reply <= data[30];
          arguments <= data[27:24];
          handler <= data[7:0];
          address <= '0;
        end
        TOKEN: token <= data[3:0];
        BYTES: bytes <= data;
        ADDRESS: begin
          arguments <= arguments - 4'd1;
          address <= {data[31:9] != '0, data[8:0]};
        end
        ARGUMENTS: begin
          arguments <= arguments - 4'd1;
          address <= address + 10'd1;
        end
        default: ;
      endcase
  end
endmodule
