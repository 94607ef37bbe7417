// OpenMP programs of gcc: libgomp runs as it is, without hooks, and its threads meet on modelled time.
//
//   program            gate (openmp.cpp)                     libgomp
//   GOMP_barrier() ->  an atomic access to the team's    ->  counts; the last one wakes the others by a futex, which
//                      word, in the order of time            they sleep on: both are the engine's
//
// 1. Each function of openmp_gates.h is the executor's: its gate makes one atomic access, and jumps to libgomp's. So
//    threads come to a lock, a barrier, or the next piece of a loop in the order of time, and contend for a line.
// 2. libgomp makes its system calls, all of them futexes, by instructions of its own. At the program's start each of
//    these two-byte instructions becomes an undefined one (ud2), whose signal makes the call on modelled time. `pause`
//    becomes one, too, and gives the other threads their turn: so a loop in libgomp that spins ends.
// 3. `situ model run` has libgomp sleep at once where it would spin first (GOMP_SPINCOUNT): a woken thread continues
//    after the engine's wake_cycles, which is about what a spinning one needs to see a line that has changed.
// 4. Between its gate and a sleep libgomp's code takes no time, and no other thread runs.
#pragma once

namespace situ::model {

struct thread;

// Prepares libgomp; does nothing if the program does not use it. Called once, before the program's main.
void begin_openmp();
// Ends the OpenMP threads of the running thread, which ends itself: libgomp would wait for them in the destructor of a
// thread-local variable, outside of modelled time.
void end_openmp_of(thread& ending);

}  // namespace situ::model
