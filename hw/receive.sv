// GAScore's way in: a packet of `in` becomes words in the memory and a call in FSL 1. The states are those of
// docs/design/message_units.md, section "Receive"; FILL is FILL and WRITTEN.
//
// A short message's words go on to FSL 1 while the packet still comes in. A long one's call begins when its words are
// in the memory, so its fixed words are kept.
module receive (
    input  logic clk,
    input  logic rst,
    // `in`: lane 0 requests, lane 1 replies
    input  logic [1:0] in_exists,
    input  logic [31:0] in_data_request,
    input  logic [31:0] in_data_reply,
    input  logic [1:0] in_last,
    output logic [1:0] in_read,
    // Token buffer
    input  logic token_available,
    input  logic [3:0] token,
    output logic token_take,
    // FSL 1: the register before it
    input  logic [4:0] call_count,
    output logic call_write,
    output logic [31:0] call_data,
    // Memory bus
    output logic asks,
    input  logic granted,
    output logic [14:0] address,
    output logic [3:0] enable,
    output logic [31:0] data,
    input  logic writing
);
  localparam int REQUEST = 0, REPLY = 1;  // the lanes

  typedef enum logic [2:0] {HEAD, KIND, AT, BYTES, TAIL, FILL, CALL, ARGUMENTS} state_t;
  state_t state;

  logic is_reply;  // the lane
  logic ended;     // the word that was taken last was the packet's last
  logic [31:0] kind, at, bytes;
  logic [3:0] own_token;  // 0 of a reply
  logic [1:0] call_step;
  logic take, set;
  logic [31:0] set_data;

  wire exists = is_reply ? in_exists[REPLY] : in_exists[REQUEST];
  wire last = is_reply ? in_last[REPLY] : in_last[REQUEST];
  wire [31:0] word = is_reply ? in_data_reply : in_data_request;
  wire is_long = kind[31];
  // The register's word and those in FSL 1 are fewer than 16.
  wire room = !call_count[4] && !(call_write && call_count[3:0] == 4'd15);

  // --- the write queue: words leave it in GRANT
  logic [31:0] queue[4];
  logic [1:0] oldest, free;
  logic [2:0] queued;
  logic [14:0] missing;  // words that are not in the queue yet
  wire fill = state == FILL && exists && missing != '0 && !queued[2];
  wire written = missing == '0 && queued == 3'd0 && !writing;
  wire last_word = missing == '0 && queued == 3'd1;

  assign data = queue[oldest];
  // The only word in the queue that has asked is the one in GRANT.
  assign asks = queued > {2'b0, granted};
  always_comb begin
    enable = 4'b1111;
    if (last_word)
      case (bytes[1:0])
        2'd1: enable = 4'b0001;
        2'd2: enable = 4'b0011;
        2'd3: enable = 4'b0111;
        default: ;
      endcase
  end

  always_ff @(posedge clk) if (fill) queue[free] <= word;
  always_ff @(posedge clk) begin
    if (rst) begin
      oldest <= '0;
      free <= '0;
      queued <= '0;
    end else begin
      if (fill) free <= free + 2'd1;
      if (granted) oldest <= oldest + 2'd1;
      if (fill != granted) queued <= fill ? queued + 3'd1 : queued - 3'd1;
    end
  end

  // More words than the memory has are as good as all ones: the address is past the end before they are counted.
  wire too_many = word[31:17] != '0 || (word[16] && word[15:0] != '0);
  always_ff @(posedge clk) begin
    if (state == BYTES) missing <= too_many ? '1 : word[16:2] + 15'(word[1:0] != '0);
    else if (fill) missing <= missing - 15'd1;
    if (state == AT) address <= {word[31:16] != '0 || word[1:0] != '0, word[15:2]};
    else if (granted) address <= address + 15'd1;
  end

  // --- the words of the packet, and the register before FSL 1
  assign token_take = in_read[REQUEST] && state == HEAD;
  always_comb begin
    take = 1'b0;
    set = 1'b0;
    set_data = word;
    case (state)
      KIND: begin
        take = exists && (word[31] || room);
        set = take && !word[31];
      end
      AT: begin
        take = exists && (is_long || room);
        set = take && !is_long;
        set_data = 32'(own_token);
      end
      BYTES: begin
        take = exists && (is_long || room);
        set = take && !is_long;
        set_data = at;
      end
      TAIL: begin
        set = room;
        set_data = bytes;
      end
      FILL: take = fill;
      CALL: begin
        set = room;
        case (call_step)
          2'd0: set_data = kind;
          2'd1: set_data = 32'(own_token);
          2'd2: set_data = at;
          2'd3: set_data = bytes;
        endcase
      end
      ARGUMENTS: begin
        take = exists && room;
        set = take;
      end
      default: ;  // HEAD
    endcase
  end

  // A reply's head goes first: it needs no token.
  always_comb begin
    in_read[REPLY] = is_reply && take;
    in_read[REQUEST] = !is_reply && take;
    if (state == HEAD) begin
      in_read[REPLY] = in_exists[REPLY];
      in_read[REQUEST] = in_exists[REQUEST] && !in_exists[REPLY] && token_available;
    end
  end

  always_ff @(posedge clk) begin
    if (rst) state <= HEAD;
    else
      case (state)
        HEAD: if (in_read != '0) state <= KIND;
        KIND: if (take) state <= AT;
        AT: if (take) state <= BYTES;
        BYTES: if (take) state <= !is_long ? TAIL : word != '0 ? FILL : CALL;
        TAIL: if (set) state <= ended ? HEAD : ARGUMENTS;
        FILL: if (written) state <= CALL;
        CALL: if (set && call_step == 2'd3) state <= ended ? HEAD : ARGUMENTS;
        ARGUMENTS: if (take && last) state <= HEAD;
      endcase
  end

  always_ff @(posedge clk) begin
    if (state == HEAD) begin
      is_reply <= in_exists[REPLY];
      own_token <= in_exists[REPLY] ? '0 : token;
    end
    if (take) ended <= last;
    if (state == KIND) kind <= word;
    if (state == AT) at <= word;
    if (state == BYTES) bytes <= word;
    if (state == FILL) call_step <= '0;
    else if (state == KIND) call_step <= '0;
    else if (state == CALL && set) call_step <= call_step + 2'd1;
  end

  always_ff @(posedge clk) begin
    call_write <= !rst && set;
    call_data <= set_data;
  end
endmodule
