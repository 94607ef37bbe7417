// PAMS: a sequencer for active messages in place of a core. The states are those of docs/design/message_units.md,
// section "PAMS"; pams_calls.sv takes the calls.
//
// The instruction RAM's output is always the word at `pc`, because its address is the `pc` of the next cycle. `pc` is
// the address of the word that is taken next: it moves in FETCH, in OPERAND and with each word of code in WORDS.
module pams (
    input  logic clk,
    input  logic rst,
    // FSL 1: calls
    input  logic call_exists,
    input  logic [31:0] call_data,
    output logic call_read,
    // FSL 2: tokens. It is never full: GAScore takes a word in each cycle.
    output logic return_write,
    output logic [7:0] return_data,
    // FSL 3: requests, a lane each
    input  logic [1:0] request_full,
    output logic [1:0] request_write,
    output logic [31:0] request_data,
    // FSL 4: the lanes that have sent a message
    input  logic sent_exists,
    input  logic [1:0] sent_data,
    output logic sent_read,
    input  logic [3:0] control_in,
    output logic [3:0] control_out,
    output logic halted,
    output logic [31:0] arrival_time,
    output logic [8:0] pc,
    // The first fault; of two in one cycle the one with the lower number
    output logic [2:0] fault
);
  localparam int REQUEST = 0, REPLY = 1;  // the lanes
  localparam logic [7:0] LOAD = 8'hf0, START = 8'hf1, POLL = 8'hf2;  // handler codes of PAMS itself
  // Faults
  localparam logic [2:0] NONE = 3'd0, NOTHING_TO_ANSWER = 3'd3, HANDLER_NOT_COUNTED = 3'd4, OUTSIDE_PROGRAM = 3'd5,
      UNKNOWN_INSTRUCTION = 3'd6;

  typedef enum logic [2:0] {HALTED, FETCH, EXECUTE, OPERAND, WAIT, WORDS} state_t;
  typedef enum logic [2:0] {WORD_KIND, WORD_NODE, WORD_AT, WORD_BYTES, WORD_FROM, WORD_ARGUMENT} part_t;
  typedef enum logic [3:0] {
    HALT, TIMER_THRESHOLD, TIMER_OFFSET, MESSAGE_COUNTER, TRANSFER_COUNTER, EXPECT_MESSAGES, EXPECT_BYTES,
    WAIT_FOR, CONTROL, SEND, SEND_LONG, REPLY_TO, REPLY_LONG, JUMP
  } operation_t;
  localparam logic [1:0] FROM_CODE = 2'd0, FROM_TIMER = 2'd1, FROM_NOTHING = 2'd3;  // 2: from ArrivalTime

  state_t state;
  part_t part;
  logic [31:0] instruction, word;
  logic [9:0] next, next_pc;  // bit 9: past the end of the program
  // An operand acts on thresholds and timer one cycle after OPERAND, from a register: the RAM's output comes late in a
  // cycle. Nobody sees it: a wait is at least three cycles away, and ArrivalTime takes the offset with it.
  logic operand_acts;
  logic [31:0] operand, timer, timer_threshold;
  logic [3:0] answered;

  // --- the instruction's fields
  wire [3:0] operation = instruction[31:28];
  wire [1:0] which = instruction[27:26];
  wire [1:0] arguments = instruction[17:16];  // not written yet
  wire [1:0] argument = instruction[11:10];   // the next one
  wire is_long = operation == SEND_LONG || operation == REPLY_LONG;
  wire is_reply = operation == REPLY_TO || operation == REPLY_LONG;
  wire is_send = operation == SEND || operation == SEND_LONG || is_reply;
  wire has_operand = operation >= TIMER_THRESHOLD && operation <= EXPECT_BYTES;
  wire unknown = operation > JUMP || (is_send && (argument == FROM_NOTHING || instruction[13:12] == FROM_NOTHING ||
      instruction[15:14] == FROM_NOTHING));

  // --- calls
  logic counts, call_is_long, call_is_reply, loads, load_outside;
  logic [7:0] handler;
  logic [3:0] token;
  logic [31:0] bytes;
  logic [9:0] address;
  pams_calls calls (
      .clk,
      .rst,
      .exists(call_exists),
      .data(call_data),
      .read(call_read),
      .counts,
      .handler,
      .is_long(call_is_long),
      .is_reply(call_is_reply),
      .token,
      .bytes,
      .loads,
      .load_outside,
      .address
  );
  wire is_start = handler == START;
  wire is_load = handler == LOAD;
  wire starts = counts && is_start;

  // --- the instruction RAM: one BlockRAM of 18 Kbit. If LOAD writes a word in the cycle in which it is read, the read
  // gives the old word here, and any word on an FPGA: an order of the two costs an ECP5 70 LUTs. No program may rely on
  // it.
  (* no_rw_check *) logic [31:0] ram[512];
  always_ff @(posedge clk) begin
    word <= ram[next_pc[8:0]];
    if (loads) ram[address[8:0]] <= call_data;
  end

  // --- counters
  logic [3:0] message_matched, message_keeps, message_reached, transfer_matched, transfer_keeps, transfer_reached;
  logic [31:0] message_threshold[4], transfer_threshold[4];
  wire in_operand = state == OPERAND;
  logic [31:0] old_threshold;  // 0 for an operand that takes its place
  wire [31:0] new_threshold = old_threshold + operand;
  always_ff @(posedge clk) begin
    old_threshold <= '0;
    if (operation == EXPECT_MESSAGES) old_threshold <= message_threshold[which];
    if (operation == EXPECT_BYTES) old_threshold <= transfer_threshold[which];
  end
  for (genvar i = 0; i < 4; i++) begin : counter
    wire chosen = in_operand && which == i;
    wire acts = operand_acts && which == i;
    pams_counter message_counter (
        .clk,
        .rst,
        .set(chosen && operation == MESSAGE_COUNTER),
        .set_handler(instruction[7:0]),
        .set_keeps(instruction[25]),
        .set_threshold(acts && (operation == MESSAGE_COUNTER || operation == EXPECT_MESSAGES)),
        .new_threshold,
        .threshold(message_threshold[i]),
        .handler,
        .matched(message_matched[i]),
        .keeps(message_keeps[i]),
        .counts,
        .amount(32'd1),
        .reached(message_reached[i])
    );
    pams_counter transfer_counter (
        .clk,
        .rst,
        .set(chosen && operation == TRANSFER_COUNTER),
        .set_handler(instruction[7:0]),
        .set_keeps(instruction[25]),
        .set_threshold(acts && (operation == TRANSFER_COUNTER || operation == EXPECT_BYTES)),
        .new_threshold,
        .threshold(transfer_threshold[i]),
        .handler,
        .matched(transfer_matched[i]),
        .keeps(transfer_keeps[i]),
        .counts(counts && call_is_long),
        .amount(bytes),
        .reached(transfer_reached[i])
    );
  end

  // --- the tokens of a request: back to GAScore, or kept for a reply. At most 16 are in use, so there is room.
  logic kept_exists;
  logic [3:0] kept_token;
  logic [4:0] unused_kept_count;
  wire keeps = (message_keeps | transfer_keeps) != '0;
  wire answers = state == EXECUTE && is_reply;
  fifo #(
      .WIDTH(4)
  ) kept (
      .clk,
      .rst,
      .write(counts && !call_is_reply && keeps),
      .data_in(token),
      .count(unused_kept_count),
      .read(answers && kept_exists),
      .data_out(kept_token),
      .exists(kept_exists)
  );
  assign return_write = counts && !call_is_reply && !keeps;
  assign return_data = 8'(token);

  // --- the sequencer
  logic room, from_code, writes, ends;
  wire [13:0] conditions = {
    outstanding == '0, control_in, transfer_reached, message_reached, timer >= timer_threshold
  };
  wire holds = (~instruction[13:0] | conditions) == '1;
  wire takes = state == FETCH || state == OPERAND || (writes && from_code);
  wire past_end = takes && next[9];

  assign pc = next[8:0];
  assign halted = state == HALTED;
  assign room = is_reply ? !request_full[REPLY] : !request_full[REQUEST];
  assign writes = state == WORDS && room;
  assign request_write[REQUEST] = writes && !is_reply;
  assign request_write[REPLY] = writes && is_reply;

  always_comb begin
    next_pc = next;
    if (takes) next_pc = next + 10'd1;
    if (state == EXECUTE && operation == JUMP) next_pc = {1'b0, instruction[8:0]};
    if (starts) next_pc = address;
  end

  always_ff @(posedge clk) begin
    if (rst) next <= '0;
    else next <= next_pc;
  end

  always_ff @(posedge clk) begin
    if (rst) state <= HALTED;
    else if (starts) state <= address[9] ? HALTED : FETCH;
    else if (past_end) state <= HALTED;
    else
      case (state)
        FETCH: state <= EXECUTE;
        EXECUTE: begin
          state <= FETCH;
          if (has_operand) state <= OPERAND;
          if (operation == WAIT_FOR) state <= WAIT;
          if (is_send) state <= WORDS;
          if (operation == HALT || unknown || (is_reply && !kept_exists)) state <= HALTED;
        end
        OPERAND: state <= FETCH;
        WAIT: if (holds) state <= FETCH;
        WORDS: if (writes && ends) state <= FETCH;
        default: ;  // HALTED
      endcase
  end

  // An argument that is written leaves the instruction, so that the next one is at its place.
  always_ff @(posedge clk) begin
    if (state == FETCH) instruction <= word;
    else if (writes && part == WORD_ARGUMENT) begin
      instruction[17:16] <= arguments - 2'd1;
      instruction[15:10] <= {2'd0, instruction[15:12]};
    end
    if (state == EXECUTE) part <= WORD_KIND;
    else if (writes)
      case (part)
        WORD_KIND: part <= WORD_NODE;
        WORD_NODE: part <= WORD_AT;
        WORD_AT: part <= WORD_BYTES;
        WORD_BYTES: part <= is_long ? WORD_FROM : WORD_ARGUMENT;
        default: part <= WORD_ARGUMENT;
      endcase
    if (answers) answered <= kept_token;
    operand <= word;
    operand_acts <= !rst && in_operand;
  end

  // The RAM's word is late in a cycle, so it meets the others last: `keep` holds yosys to that.
  (* keep *) logic [31:0] other_data;
  assign request_data = from_code ? word : other_data;
  always_comb begin
    other_data = '0;
    from_code = 1'b0;
    ends = 1'b0;
    case (part)
      WORD_KIND: other_data = {is_long, is_reply, 4'd0, arguments, 16'd0, instruction[7:0]};
      WORD_NODE: other_data = is_reply ? {1'b1, 31'(answered)} : 32'(instruction[27:18]);
      WORD_AT, WORD_BYTES: begin
        from_code = is_long;
        ends = part == WORD_BYTES && !is_long && arguments == 2'd0;
      end
      WORD_FROM: begin
        from_code = 1'b1;
        ends = arguments == 2'd0;
      end
      default: begin  // WORD_ARGUMENT
        from_code = argument == FROM_CODE;
        other_data = argument == FROM_TIMER ? timer : arrival_time;
        ends = arguments == 2'd1;
      end
    endcase
  end

  // --- messages that were written and not yet sent: FSL 3 and GAScore hold at most five of a lane
  logic [4:0] outstanding;
  assign sent_read = sent_exists;
  wire [1:0] sent_lanes = sent_exists ? sent_data : '0;
  always_ff @(posedge clk) begin
    if (rst) outstanding <= '0;
    else outstanding <= outstanding + 5'(writes && ends) - 5'(sent_lanes[0]) - 5'(sent_lanes[1]);
  end

  // --- timer and control outputs
  wire [31:0] offset = operand_acts && operation == TIMER_OFFSET ? operand : '0;
  always_ff @(posedge clk) begin
    if (rst) timer <= '0;
    else timer <= timer + offset + 32'd1;
    if (rst) timer_threshold <= '0;
    else if (operand_acts && operation == TIMER_THRESHOLD) timer_threshold <= operand;
    if (rst) arrival_time <= '0;
    else if (counts && handler != POLL) arrival_time <= timer + offset;
    if (rst) control_out <= '0;
    else if (state == EXECUTE && operation == CONTROL)
      control_out <= (control_out & ~instruction[11:8]) | instruction[3:0];
  end

  // --- faults
  wire uncounted = counts && !is_load && !is_start && (message_matched | transfer_matched) == '0;
  always_ff @(posedge clk) begin
    if (rst) fault <= NONE;
    else if (fault == NONE) begin
      if (answers && !kept_exists) fault <= NOTHING_TO_ANSWER;
      else if (uncounted) fault <= HANDLER_NOT_COUNTED;
      else if (past_end || load_outside || (starts && address[9])) fault <= OUTSIDE_PROGRAM;
      else if (state == EXECUTE && unknown) fault <= UNKNOWN_INSTRUCTION;
    end
  end
endmodule
