// Hooks in assembly: what stands before which instruction.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "examples/command.h"
#include "model/assembly/assembly_text.h"
#include "model/assembly/decoded_object.h"
#include "model/assembly/hooks_in_assembly.h"

namespace situ::model {
namespace {

using package_rank::test::command_result;
using package_rank::test::run_command;
using package_rank::test::scratch_folder;

hooked_assembly hooked(const std::string& text) {
  const std::vector<assembly_line> lines = read_lines(text);
  const scratch_folder folder;
  const std::string assembly = folder.path() + "/marked.s";
  const std::string object = folder.path() + "/marked.o";
  std::ofstream{assembly} << add_marks(lines);
  const command_result result = run_command({"/usr/bin/env", "as", "-o", object, assembly});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return add_hooks(lines, read_object(object, lines.size()));
}

// Returns the instructions of `text` as they are with hooks, one a line, without what is no instruction.
std::string instructions(const std::string& text) {
  const std::string with_hooks = hooked("\t.text\n" + text).text;
  std::string kept;
  for (const assembly_line& line : read_lines(with_hooks))
    if (line.is_instruction) kept.append(line.text.substr(line.text.find_first_not_of('\t'))).append("\n");
  return kept;
}

TEST(Assembly, ALoadThatFindsRdiAndFlagsFreeHasTheShortestHook) {
  EXPECT_EQ(instructions("\tmovq\t8(%rsi), %rax\n\txorl\t%edi, %edi\n\tret\n"),
            "leaq\t8(%rsi), %rdi\ncall\tsitu_model_read8\nmovq\t8(%rsi), %rax\nxorl\t%edi, %edi\n"
            "pushq\t%rdi\nleaq\t8(%rsp), %rdi\ncall\tsitu_model_read8\npopq\t%rdi\nret\n");
}

TEST(Assembly, RdiIsPushedIfItIsInUse) {
  const std::string kept = instructions("\tmovl\t16(%rsp), %eax\n\tmovl\t(%rdi), %edx\n\tud2\n");
  EXPECT_EQ(kept,
            "pushq\t%rdi\nleaq\t8+16(%rsp), %rdi\ncall\tsitu_model_read4_f\npopq\t%rdi\nmovl\t16(%rsp), %eax\n"
            "pushq\t%rdi\nleaq\t(%rdi), %rdi\ncall\tsitu_model_read4_f\npopq\t%rdi\nmovl\t(%rdi), %edx\nud2\n");
}

TEST(Assembly, FlagsThatAJumpNeedsAreKept) {
  const std::string kept = instructions("\tcmpl\t%eax, %ebx\n\tmovl\t$0, (%rsi)\n\tje\t.L2\n.L2:\n\tret\n");
  EXPECT_NE(kept.find("call\tsitu_model_write4_f\n"), std::string::npos) << kept;
  EXPECT_EQ(instructions("\tmovl\t$0, (%rsi)\n\tcmpl\t%eax, %ebx\n\tje\t.L2\n.L2:\n\tret\n").find("write4_f"),
            std::string::npos);
  // inc leaves the carry as it is, and adc reads it.
  EXPECT_NE(instructions("\tmovl\t$0, (%rsi)\n\tincl\t%ecx\n\tadcl\t$0, %eax\n\tret\n").find("write4_f"),
            std::string::npos);
}

TEST(Assembly, BothWaysOfAJumpAreFollowed) {
  const std::string before = "\tmovq\t(%rsi), %rax\n\tcmpq\t%rax, %rcx\n\tje\t.L4\n\tmovl\t$1, %edi\n\tud2\n.L4:\n";
  EXPECT_TRUE(instructions(before + "\txorl\t%edi, %edi\n\tud2\n").starts_with("leaq"));
  EXPECT_TRUE(instructions(before + "\tmovq\t%rdi, %rdx\n\tud2\n").starts_with("pushq"));
}

TEST(Assembly, APartOfRdiIsNotAllOfIt) {
  for (const char* part : {"xorb\t%dil, %dil", "movb\t$0, %dil", "xorw\t%di, %di"})
    EXPECT_TRUE(instructions(std::string{"\tmovl\t$3, (%rsi)\n\t"} + part + "\n\tmovq\t%rdi, %rax\n\tud2\n")
                    .starts_with("pushq"))
        << part;
  EXPECT_TRUE(instructions("\tmovl\t$3, (%rsi)\n\txorl\t%edi, %edi\n\tud2\n").starts_with("leaq"));
}

// The function may be another file's, if this one's is weak.
TEST(Assembly, AJumpToAFunctionNeedsItsArguments) {
  const std::string kept = instructions("f:\n\txorl\t%edi, %edi\n\tud2\nh:\n\tmovl\t$1, (%rsi)\n\tjmp\tf\n");
  EXPECT_NE(kept.find("pushq\t%rdi\nleaq\t(%rsi), %rdi\ncall\tsitu_model_write4\n"), std::string::npos) << kept;
}

TEST(Assembly, CodeOfAnotherSectionIsNotWhatFollows) {
  const std::string kept =
      instructions("\tmovl\t$1, (%rsi)\n\t.section\t.text.g,\"ax\"\ng:\n\txorl\t%edi, %edi\n\tud2\n");
  EXPECT_TRUE(kept.starts_with("pushq\t%rdi\n")) << kept;
}

TEST(Assembly, WhatChangesMemoryReadsAndWritesIt) {
  EXPECT_NE(instructions("\taddl\t$1, (%rsi)\n\tud2\n").find("call\tsitu_model_modify4\n"), std::string::npos);
  EXPECT_NE(instructions("\tcmpl\t$1, (%rsi)\n\tud2\n").find("call\tsitu_model_read4\n"), std::string::npos);
  EXPECT_NE(instructions("\tlock addl\t$1, (%rsi)\n\tud2\n").find("call\tsitu_model_atomic4\n"), std::string::npos);
  EXPECT_NE(instructions("\txchgq\t%rax, (%rsi)\n\tud2\n").find("call\tsitu_model_atomic8\n"), std::string::npos);
}

TEST(Assembly, MarkedAtomicsAreKnownFromOtherAsmStatements) {
  const std::string text =
      "#APP\n# 1 \"a.h\" 1\n\t#situ.atomic_read\n\tmovq (%rsi), %rax\n# 0 \"\" 2\n#NO_APP\n\tud2\n";
  EXPECT_NE(instructions(text).find("call\tsitu_model_atomic_read8\n"), std::string::npos) << instructions(text);
  EXPECT_EQ(instructions("#APP\n\tmovq (%rsi), %rax\n#NO_APP\n\tud2\n"), "movq (%rsi), %rax\nud2\n");
}

// fetch_or, as gcc writes it.
TEST(Assembly, TheLoadOfAnExchangeIsPartOfTheAtomic) {
  const std::string loop =
      ".L3:\n\tmovl\t%eax, %ecx\n\torl\t%edx, %ecx\n\tlock cmpxchgl\t%ecx, (%rsi)\n\tjne\t.L3\n\tud2\n";
  EXPECT_NE(instructions("\tmovl\t(%rsi), %eax\n" + loop).find("call\tsitu_model_atomic_read4\n"), std::string::npos);
  EXPECT_EQ(instructions("\tmovl\t8(%rsi), %eax\n" + loop).find("atomic_read"), std::string::npos);
  EXPECT_EQ(instructions("\tmovl\t(%rsi), %ebx\n" + loop).find("atomic_read"), std::string::npos);
}

TEST(Assembly, TheStackIsMemory) {
  const std::string kept = instructions("\tpushq\t%rbx\n\tcall\tf\n\tpopq\t%rbx\n\tleave\n\tret\n");
  std::map<std::string, int> calls;
  for (const char* hook : {"write8\n", "write8_f\n", "read8\n", "read8_f\n"})
    for (std::size_t at = 0; (at = kept.find(hook, at)) != std::string::npos; ++at) ++calls[hook];
  EXPECT_EQ(calls["write8\n"] + calls["write8_f\n"], 2) << kept;
  EXPECT_EQ(calls["read8\n"] + calls["read8_f\n"], 3) << kept;
  EXPECT_NE(kept.find("leaq\t8+-8(%rsp), %rdi\n"), std::string::npos) << kept;
  EXPECT_NE(kept.find("leaq\t(%rbp), %rdi\n"), std::string::npos) << kept;
}

TEST(Assembly, TheUnwinderIsToldOfAPush) {
  const std::string begin = "f:\n\t.cfi_startproc\n";
  const std::string end = "\tmovl\t(%rdi), %eax\n\tmovl\t(%rdi), %edx\n\tret\n\t.cfi_endproc\n";
  EXPECT_NE(hooked(begin + end).text.find(".cfi_adjust_cfa_offset 8"), std::string::npos);
  EXPECT_EQ(hooked(begin + "\t.cfi_def_cfa_register 6\n" + end).text.find(".cfi_adjust_cfa_offset"), std::string::npos);
}

TEST(Assembly, BlocksBeginAtFunctionsNumberedLabelsAndBehindJumps) {
  const std::string kept =
      instructions("f:\n\tnop\n.LBB2:\n\tnop\n.L3:\n\tnop\n\tjne\t.L3\n\tnop\n\tjmp\t.L4\n\tnop\n.L4:\n\tud2\n");
  EXPECT_EQ(kept,
            "call\tsitu_model_block_f\nnop\nnop\ncall\tsitu_model_block_f\nnop\njne\t.L3\ncall\tsitu_model_block_f\n"
            "nop\njmp\t.L4\nnop\ncall\tsitu_model_block_f\nud2\n");
  EXPECT_TRUE(instructions("f:\n\txorl\t%eax, %eax\n\tret\n").starts_with("call\tsitu_model_block\n"));
}

TEST(Assembly, AnAsmStatementIsPartOfABlock) {
  EXPECT_EQ(instructions(".L2:\n#APP\n\timul %rax, %rax\n1:\n\tdec %rcx\n\tjne 1b\n#NO_APP\n\tnop\n\tud2\n"),
            "call\tsitu_model_block_f\nimul %rax, %rax\ndec %rcx\njne 1b\nnop\nud2\n");
  EXPECT_EQ(instructions("f:\n#APP\n\t.byte 0x90\n#NO_APP\n\tret\n").find("call\tsitu_model_block_f"), 0u);
}

TEST(Assembly, ThreadLocalVariablesStringsAndTablesOfJumps) {
  EXPECT_NE(instructions("\tmovq\t%fs:x@tpoff, %rax\n\tud2\n").find("leaq\tx@tpoff, %rdi\ncall\tsitu_model_tls_read8"),
            std::string::npos);
  EXPECT_EQ(instructions("\trep stosq\n\tud2\n"), "call\tsitu_model_rep_stos8\nrep stosq\nud2\n");
  EXPECT_EQ(instructions("\tmovsb\n\tud2\n"), "call\tsitu_model_one_movs1\nmovsb\nud2\n");
  EXPECT_NE(instructions("\tjmp\t*.L5(,%rax,8)\n.L5:\n\tud2\n").find("leaq\t.L5(,%rax,8), %rdi\n"), std::string::npos);
}

TEST(Assembly, VectorsOfAllSizes) {
  const std::string kept = instructions(
      "\tmovaps\t%xmm0, (%rsi)\n\tvmovupd\t(%rsi), %ymm1\n\tvmovupd\t%zmm2, (%rsi)\n\tfldt\t(%rsi)\n\tud2\n");
  for (const char* hook : {"write16", "read32", "write64", "read10"})
    EXPECT_NE(kept.find(std::string{"call\tsitu_model_"} + hook), std::string::npos) << hook << " of\n" << kept;
}

TEST(Assembly, SomeInstructionsHaveNoHook) {
  EXPECT_EQ(instructions("\tleaq\t8(%rsi), %rax\n\tnopw\t(%rax)\n\tprefetcht0\t(%rax)\n\tud2\n"),
            "leaq\t8(%rsi), %rax\nnopw\t(%rax)\nprefetcht0\t(%rax)\nud2\n");
  EXPECT_EQ(instructions("\tmovq\tx@GOTPCREL(%rip), %rax\n\tud2\n"), "movq\tx@GOTPCREL(%rip), %rax\nud2\n");
}

TEST(Assembly, WhatIsNotSeenIsCounted) {
  const hooked_assembly made = hooked("\t.text\n\trepnz scasb\n\tvgatherdps\t%ymm0, (%rax,%ymm1,4), %ymm2\n\tud2\n");
  EXPECT_EQ(made.unseen, (std::map<std::string, std::size_t>{{"scasb", 1}, {"vgatherdps", 1}}));
}

TEST(Assembly, OtherSectionsAreLeftAlone) {
  const std::string text =
      "\t.section\t.rodata\n.L1:\n\t.long\t.L2-.L1\n\t.data\nvalue:\n\t.quad\t7\n\t.section\t.text.f,\"ax\"\nf:"
      "\n\tnop\n";
  EXPECT_EQ(hooked(text).text.find("situ_model_block"), hooked(text).text.rfind("situ_model_block"));
}

TEST(Assembly, ASectionIsKnownWhenItsFlagsAreNotSaid) {
  const std::string text =
      "\t.section\tmycode,\"ax\",@progbits\na:\n\tnop\n\t.text\nb:\n\tnop\n\t.section\tmycode\nc:\n\tnop\n";
  std::size_t blocks = 0;
  const std::string made = hooked(text).text;
  for (std::size_t at = 0; (at = made.find("situ_model_block", at)) != std::string::npos; ++at) ++blocks;
  EXPECT_EQ(blocks, 3u) << made;
}

TEST(Assembly, SeveralStatementsOnALine) {
  EXPECT_EQ(instructions("#APP\n\t.pushsection .data; .long 1; .popsection\n#NO_APP\nf:\n\tnop\n\tud2\n"),
            "call\tsitu_model_block_f\nnop\nud2\n");
}

TEST(Assembly, RepeatedLinesAreLeftAlone) {
  EXPECT_EQ(instructions("f:\n#APP\n\t.rept 2\n\tnop\n\t.endr\n#NO_APP\n\tret\n").find("call\tsitu_model_block_f"), 0u);
}

TEST(Assembly, NamesAndPrefixesOfAllKinds) {
  EXPECT_EQ(instructions("na\xc3\xafve:\n\tnop\n\tud2\n"), "call\tsitu_model_block_f\nnop\nud2\n");
  EXPECT_EQ(instructions("\tmovl\t$1, %ecx\n.LPSRL0:\n\tsubl\t$1, %ecx\n\tjne\t.LPSRL0\n\tud2\n"),
            "movl\t$1, %ecx\ncall\tsitu_model_block\nsubl\t$1, %ecx\njne\t.LPSRL0\ncall\tsitu_model_block_f\nud2\n");
  EXPECT_NE(instructions("\t{vex} vpaddd\t(%rsi), %ymm0, %ymm1\n\tud2\n").find("leaq\t(%rsi), %rdi\n"),
            std::string::npos);
  EXPECT_NE(instructions("\tpopq\t8(%rsp)\n\tud2\n").find("leaq\t8+8+8(%rsp), %rdi\ncall\tsitu_model_write8"),
            std::string::npos);
}

TEST(Assembly, CodeThatTheLinkerKnowsByItsBytesIsLeftAlone) {
  EXPECT_EQ(instructions(
                "\tdata16 leaq\tx@tlsgd(%rip), %rdi\n\t.value\t0x6666\n\trex64\n\tcall\t__tls_get_addr@PLT\n\tud2\n"),
            "data16 leaq\tx@tlsgd(%rip), %rdi\nrex64\ncall\t__tls_get_addr@PLT\nud2\n");
}

TEST(Assembly, WhatCannotBeReadIsRefused) {
  EXPECT_THROW(static_cast<void>(read_lines("\tcall\t__morestack\n")), std::runtime_error);
  EXPECT_THROW(static_cast<void>(read_lines("\t.intel_syntax noprefix\n")), std::runtime_error);
  EXPECT_THROW(static_cast<void>(read_lines("\t.section\t.gnu.lto_.opts,\"e\",@progbits\n")), std::runtime_error);
}

}  // namespace
}  // namespace situ::model
