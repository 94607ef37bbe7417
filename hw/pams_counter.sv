// A counter of PAMS: of messages with its handler code, or of the bytes that they bring.
module pams_counter (
    input  logic clk,
    input  logic rst,
    // OPERAND of message_counter or transfer_counter: the handler is new, the count is 0
    input  logic set,
    input  logic [7:0] set_handler,
    input  logic set_keeps,
    // A cycle later: the new threshold, also of expect_messages and expect_bytes
    input  logic set_threshold,
    input  logic [31:0] new_threshold,
    output logic [31:0] threshold,
    // Calls
    input  logic [7:0] handler,
    output logic matched,
    output logic keeps,
    input  logic counts,
    input  logic [31:0] amount,
    output logic reached
);
  logic enabled, keeps_tokens;
  logic [7:0] own_handler;
  logic [31:0] count;

  assign matched = enabled && own_handler == handler;
  assign keeps = matched && keeps_tokens;
  assign reached = count >= threshold;

  always_ff @(posedge clk) begin
    if (rst) enabled <= 1'b0;
    else if (set) enabled <= 1'b1;
    if (set) begin
      own_handler <= set_handler;
      keeps_tokens <= set_keeps;
    end
  end

  // A counter that is set loses the call of the same cycle.
  always_ff @(posedge clk) begin
    if (rst || set) count <= '0;
    else if (counts && matched) count <= count + amount;
    if (rst) threshold <= '0;
    else if (set_threshold) threshold <= new_threshold;
  end
endmodule
