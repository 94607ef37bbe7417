// A node: GAScore, PAMS in place of a core, and the FSLs between them. Its memory, `in` and `out` are outside.
module message_node (
    input  logic clk,
    input  logic rst,
    input  logic [15:0] self,
    // `out`: lane 0 requests, lane 1 replies; the words in a lane at the cycle's start
    output logic [1:0] out_write,
    output logic [31:0] out_data_request,
    output logic [31:0] out_data_reply,
    output logic [1:0] out_last,
    input  logic [4:0] out_count_request,
    input  logic [4:0] out_count_reply,
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
    input  logic [3:0] control_in,
    output logic [3:0] control_out,
    output logic halted,
    output logic [31:0] arrival_time,
    output logic [8:0] pc,
    output logic [2:0] fault
);
  localparam int REQUEST = 0, REPLY = 1;  // the lanes

  // --- FSL 1: calls
  logic call_write, call_exists, call_read;
  logic [4:0] call_count;
  logic [31:0] call_data, called_data;
  fifo calls (
      .clk,
      .rst,
      .write(call_write),
      .data_in(call_data),
      .count(call_count),
      .read(call_read),
      .data_out(called_data),
      .exists(call_exists)
  );

  // --- FSL 2: tokens back
  logic return_write, return_exists, return_read;
  logic [4:0] unused_return_count;
  logic [7:0] return_data, returned_data;
  fifo #(
      .WIDTH(8)
  ) returns (
      .clk,
      .rst,
      .write(return_write),
      .data_in(return_data),
      .count(unused_return_count),
      .read(return_read),
      .data_out(returned_data),
      .exists(return_exists)
  );

  // --- FSL 3: requests
  logic [1:0] request_write, request_full, request_exists, request_read;
  logic [3:0] unused_request_count, unused_reply_count;
  logic [31:0] request_data, request_data_request, request_data_reply;
  fifo requests (
      .clk,
      .rst,
      .write(request_write[REQUEST]),
      .data_in(request_data),
      .count({request_full[REQUEST], unused_request_count}),
      .read(request_read[REQUEST]),
      .data_out(request_data_request),
      .exists(request_exists[REQUEST])
  );
  fifo replies (
      .clk,
      .rst,
      .write(request_write[REPLY]),
      .data_in(request_data),
      .count({request_full[REPLY], unused_reply_count}),
      .read(request_read[REPLY]),
      .data_out(request_data_reply),
      .exists(request_exists[REPLY])
  );

  // --- FSL 4: sent
  logic sent_write, sent_exists, sent_read;
  logic [4:0] sent_count;
  logic [1:0] sent_data, sent_lanes;
  fifo #(
      .WIDTH(2)
  ) sent (
      .clk,
      .rst,
      .write(sent_write),
      .data_in(sent_data),
      .count(sent_count),
      .read(sent_read),
      .data_out(sent_lanes),
      .exists(sent_exists)
  );

  logic [2:0] gascore_fault, pams_fault;
  assign fault = gascore_fault != 3'd0 ? gascore_fault : pams_fault;

  gascore gascore (
      .clk,
      .rst,
      .self,
      .call_count,
      .call_write,
      .call_data,
      .return_exists,
      .return_data(returned_data),
      .return_read,
      .request_exists,
      .request_data_request,
      .request_data_reply,
      .request_read,
      .sent_count,
      .sent_write,
      .sent_data,
      .out_count_request,
      .out_count_reply,
      .out_write,
      .out_data_request,
      .out_data_reply,
      .out_last,
      .in_exists,
      .in_data_request,
      .in_data_reply,
      .in_last,
      .in_read,
      .memory_address,
      .memory_enable,
      .memory_data,
      .memory_word,
      .fault(gascore_fault)
  );

  pams pams (
      .clk,
      .rst,
      .call_exists,
      .call_data(called_data),
      .call_read,
      .return_write,
      .return_data,
      .request_full,
      .request_write,
      .request_data,
      .sent_exists,
      .sent_data(sent_lanes),
      .sent_read,
      .control_in,
      .control_out,
      .halted,
      .arrival_time,
      .pc,
      .fault(pams_fault)
  );
endmodule
