// One lane of GAScore's way out: a request of FSL 3 becomes a packet in `out`. The states are those of
// docs/design/message_units.md, section "Transmit".
//
// The packet is one word behind the request: `held` is the word that goes next. The node goes at once, as the head.
module transmit (
    input  logic clk,
    input  logic rst,
    input  logic [15:0] self,
    // This lane of FSL 3. In NODE, gascore turns the word into a destination.
    input  logic exists,
    input  logic [31:0] data,
    output logic read,
    output logic takes_node,
    input  logic [15:0] destination,
    // This lane of `out`.
    input  logic [4:0] out_count,
    output logic out_write,
    output logic [31:0] out_data,
    output logic out_last,
    // FSL 4: no packet begins unless there is room for the word that tells of its end.
    input  logic sent_room,
    output logic sent,
    // Memory bus: the arbiter's answer to `asks` is `goes`, in the same cycle; the address is used in GRANT.
    output logic asks,
    input  logic goes,
    input  logic granted,
    output logic [14:0] address,
    input  logic fetched,
    input  logic [31:0] fetched_word
);

  typedef enum logic [2:0] {KIND, NODE, AT, BYTES, TAIL, FROM, READ, ARGUMENTS} state_t;
  state_t state;

  logic [31:0] held;
  logic is_long;
  logic [3:0] arguments;           // not yet written
  logic [14:0] missing;  // words of the memory that have not asked
  logic [2:0] asked;               // words that have asked, and are not in `out`

  wire room = !out_count[4];
  wire no_arguments = arguments == 4'd0;
  wire has_bytes = held != '0;
  wire last_fetched = missing == '0 && asked == 3'd1;

  assign takes_node = state == NODE && read;
  assign asks = state == READ && missing != '0 && {1'b0, out_count} + {3'b0, asked} < 6'd16;
  assign sent = out_write && out_last;

  always_comb begin
    read = exists && room;
    out_write = read;
    out_data = held;
    out_last = 1'b0;
    case (state)
      KIND: begin
        read = exists && sent_room;
        out_write = 1'b0;
      end
      NODE: out_data = {destination, self};
      TAIL: begin
        read = 1'b0;
        out_write = room;
        out_last = no_arguments;
      end
      FROM: out_last = !has_bytes && no_arguments;
      READ: begin
        read = 1'b0;
        out_write = fetched;
        out_data = fetched_word;
        out_last = last_fetched && no_arguments;
      end
      ARGUMENTS: begin
        out_data = data;
        out_last = arguments == 4'd1;
      end
      default: ;  // AT, BYTES
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) state <= KIND;
    else
      case (state)
        KIND: if (read) state <= NODE;
        NODE: if (read) state <= AT;
        AT: if (read) state <= BYTES;
        BYTES: if (read) state <= is_long ? FROM : TAIL;
        FROM: if (read) state <= has_bytes ? READ : no_arguments ? KIND : ARGUMENTS;
        TAIL: if (room) state <= no_arguments ? KIND : ARGUMENTS;
        READ: if (fetched && last_fetched) state <= no_arguments ? KIND : ARGUMENTS;
        ARGUMENTS: if (read && out_last) state <= KIND;
      endcase
  end

  always_ff @(posedge clk) begin
    if (read && state != NODE) held <= data;
    if (state == KIND) is_long <= data[31];
    if (state == KIND) arguments <= data[27:24];
    else if (state == ARGUMENTS && read) arguments <= arguments - 4'd1;
  end

  // More words than the memory has are as good as all ones: the address is past the end before they are counted.
  wire too_many = data[31:17] != '0 || (data[16] && data[15:0] != '0);
  always_ff @(posedge clk) begin
    if (state == BYTES) missing <= too_many ? '1 : data[16:2] + 15'(data[1:0] != '0);
    else if (goes) missing <= missing - 15'd1;
    if (state == FROM) address <= {data[31:16] != '0 || data[1:0] != '0, data[15:2]};
    else if (granted) address <= address + 15'd1;
  end

  always_ff @(posedge clk) begin
    if (rst) asked <= '0;
    else if (goes != fetched) asked <= goes ? asked + 3'd1 : asked - 3'd1;
  end
endmodule
