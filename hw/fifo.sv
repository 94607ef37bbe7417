// An FSL: a FIFO of 16 places, whose oldest word is at its output without being asked for. A word written in one cycle
// is there in the next.
module fifo #(
    parameter int WIDTH = 32
) (
    input  logic clk,
    input  logic rst,
    // pre: not full
    input  logic write,
    input  logic [WIDTH-1:0] data_in,
    output logic [4:0] count,
    // pre: exists
    input  logic read,
    output logic [WIDTH-1:0] data_out,
    output logic exists
);
  logic [WIDTH-1:0] words[16];
  logic [3:0] oldest, free;

  assign data_out = words[oldest];

  always_ff @(posedge clk) if (write) words[free] <= data_in;

  // `exists` is a register, so that a reader's decisions do not begin with a comparison.
  always_ff @(posedge clk) begin
    if (rst) begin
      oldest <= '0;
      free <= '0;
      count <= '0;
      exists <= 1'b0;
    end else begin
      if (write) free <= free + 4'd1;
      if (read) oldest <= oldest + 4'd1;
      if (write && !read) count <= count + 5'd1;
      if (read && !write) count <= count - 5'd1;
      exists <= write || (exists && !(read && count == 5'd1));
    end
  end
endmodule
