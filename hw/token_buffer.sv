// The sources of the requests whose handlers are not done: a token names an entry. A handler never learns the source.
module token_buffer (
    input  logic clk,
    input  logic rst,
    // Receive: a request's head takes the lowest free token.
    input  logic take,
    input  logic [15:0] source,
    output logic available,
    output logic [3:0] token,
    // The transmit of replies: the node for a token; with `is_done` the token is freed.
    input  logic asks,
    input  logic is_done,
    input  logic [7:0] asked,
    output logic [15:0] destination,
    // FSL 2: tokens of handlers that end without a reply.
    input  logic returns,
    input  logic [7:0] returned,
    output logic unknown
);
  logic [15:0] sources[16];
  logic [15:0] used, used_next;

  wire [3:0] asked_entry = asked[3:0];
  wire [3:0] returned_entry = returned[3:0];

  assign destination = sources[asked_entry];
  assign available = used != '1;
  assign unknown = (asks && (asked[7:4] != '0 || !used[asked_entry])) ||
      (returns && (returned[7:4] != '0 || !used[returned_entry]));

  // One bit is set, that of the lowest free token. `used` changes by it, and not by the token's number: that is faster.
  wire [15:0] lowest = ~used & (used + 16'd1);
  assign token = {
    (lowest & 16'hff00) != '0, (lowest & 16'hf0f0) != '0, (lowest & 16'hcccc) != '0, (lowest & 16'haaaa) != '0
  };

  // A token that is taken was free at the cycle's start, so no token is taken and freed in one cycle.
  always_comb begin
    for (int i = 0; i < 16; i++) begin
      used_next[i] = used[i] || (take && lowest[i]);
      if (asks && is_done && asked_entry == i[3:0]) used_next[i] = 1'b0;
      if (returns && returned_entry == i[3:0]) used_next[i] = 1'b0;
    end
  end

  always_ff @(posedge clk) used <= rst ? '0 : used_next;
  always_ff @(posedge clk) if (take) sources[token] <= source;
endmodule
