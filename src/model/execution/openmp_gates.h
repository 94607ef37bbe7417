// The functions of gcc's libgomp by which threads meet, in three groups: each is called through a gate of openmp.cpp.
// They are those of gcc 12 (GOMP_5.0.1); what only an accelerator uses is left out.
#pragma once

// clang-format off: a list, which it lays out as nested calls

// Begin a team.
#define SITU_OPENMP_BEGINS(gate) \
    gate(GOMP_parallel) gate(GOMP_parallel_loop_dynamic) gate(GOMP_parallel_loop_dynamic_start) \
    gate(GOMP_parallel_loop_guided) gate(GOMP_parallel_loop_guided_start) \
    gate(GOMP_parallel_loop_maybe_nonmonotonic_runtime) gate(GOMP_parallel_loop_nonmonotonic_dynamic) \
    gate(GOMP_parallel_loop_nonmonotonic_guided) gate(GOMP_parallel_loop_nonmonotonic_runtime) \
    gate(GOMP_parallel_loop_runtime) gate(GOMP_parallel_loop_runtime_start) gate(GOMP_parallel_loop_static) \
    gate(GOMP_parallel_loop_static_start) gate(GOMP_parallel_reductions) gate(GOMP_parallel_sections) \
    gate(GOMP_parallel_sections_start) gate(GOMP_parallel_start)

// Synchronise on the object of the first argument.
#define SITU_OPENMP_ON_ARGUMENT(gate) \
    gate(GOMP_critical_name_end) gate(GOMP_critical_name_start) gate(omp_set_lock) gate(omp_unset_lock) \
    gate(omp_test_lock) gate(omp_set_nest_lock) gate(omp_unset_nest_lock) gate(omp_test_nest_lock)

// Synchronise on the state of the team, or of all teams.
#define SITU_OPENMP_ON_TEAM(gate) \
    gate(GOMP_atomic_end) gate(GOMP_atomic_start) gate(GOMP_barrier) gate(GOMP_barrier_cancel) gate(GOMP_cancel) \
    gate(GOMP_critical_end) gate(GOMP_critical_start) gate(GOMP_doacross_post) gate(GOMP_doacross_ull_post) \
    gate(GOMP_doacross_ull_wait) gate(GOMP_doacross_wait) gate(GOMP_loop_doacross_dynamic_start) \
    gate(GOMP_loop_doacross_guided_start) gate(GOMP_loop_doacross_runtime_start) gate(GOMP_loop_doacross_start) \
    gate(GOMP_loop_doacross_static_start) gate(GOMP_loop_dynamic_next) gate(GOMP_loop_dynamic_start) \
    gate(GOMP_loop_end) gate(GOMP_loop_end_cancel) gate(GOMP_loop_end_nowait) gate(GOMP_loop_guided_next) \
    gate(GOMP_loop_guided_start) gate(GOMP_loop_maybe_nonmonotonic_runtime_next) \
    gate(GOMP_loop_maybe_nonmonotonic_runtime_start) gate(GOMP_loop_nonmonotonic_dynamic_next) \
    gate(GOMP_loop_nonmonotonic_dynamic_start) gate(GOMP_loop_nonmonotonic_guided_next) \
    gate(GOMP_loop_nonmonotonic_guided_start) gate(GOMP_loop_nonmonotonic_runtime_next) \
    gate(GOMP_loop_nonmonotonic_runtime_start) gate(GOMP_loop_ordered_dynamic_next) \
    gate(GOMP_loop_ordered_dynamic_start) gate(GOMP_loop_ordered_guided_next) gate(GOMP_loop_ordered_guided_start) \
    gate(GOMP_loop_ordered_runtime_next) gate(GOMP_loop_ordered_runtime_start) gate(GOMP_loop_ordered_start) \
    gate(GOMP_loop_ordered_static_next) gate(GOMP_loop_ordered_static_start) gate(GOMP_loop_runtime_next) \
    gate(GOMP_loop_runtime_start) gate(GOMP_loop_start) gate(GOMP_loop_static_next) gate(GOMP_loop_static_start) \
    gate(GOMP_loop_ull_doacross_dynamic_start) gate(GOMP_loop_ull_doacross_guided_start) \
    gate(GOMP_loop_ull_doacross_runtime_start) gate(GOMP_loop_ull_doacross_start) \
    gate(GOMP_loop_ull_doacross_static_start) gate(GOMP_loop_ull_dynamic_next) gate(GOMP_loop_ull_dynamic_start) \
    gate(GOMP_loop_ull_guided_next) gate(GOMP_loop_ull_guided_start) \
    gate(GOMP_loop_ull_maybe_nonmonotonic_runtime_next) gate(GOMP_loop_ull_maybe_nonmonotonic_runtime_start) \
    gate(GOMP_loop_ull_nonmonotonic_dynamic_next) gate(GOMP_loop_ull_nonmonotonic_dynamic_start) \
    gate(GOMP_loop_ull_nonmonotonic_guided_next) gate(GOMP_loop_ull_nonmonotonic_guided_start) \
    gate(GOMP_loop_ull_nonmonotonic_runtime_next) gate(GOMP_loop_ull_nonmonotonic_runtime_start) \
    gate(GOMP_loop_ull_ordered_dynamic_next) gate(GOMP_loop_ull_ordered_dynamic_start) \
    gate(GOMP_loop_ull_ordered_guided_next) gate(GOMP_loop_ull_ordered_guided_start) \
    gate(GOMP_loop_ull_ordered_runtime_next) gate(GOMP_loop_ull_ordered_runtime_start) \
    gate(GOMP_loop_ull_ordered_start) gate(GOMP_loop_ull_ordered_static_next) \
    gate(GOMP_loop_ull_ordered_static_start) gate(GOMP_loop_ull_runtime_next) gate(GOMP_loop_ull_runtime_start) \
    gate(GOMP_loop_ull_start) gate(GOMP_loop_ull_static_next) gate(GOMP_loop_ull_static_start) \
    gate(GOMP_ordered_end) gate(GOMP_ordered_start) gate(GOMP_parallel_end) gate(GOMP_scope_start) \
    gate(GOMP_sections2_start) gate(GOMP_sections_end) gate(GOMP_sections_end_cancel) gate(GOMP_sections_end_nowait) \
    gate(GOMP_sections_next) gate(GOMP_sections_start) gate(GOMP_single_copy_end) gate(GOMP_single_copy_start) \
    gate(GOMP_single_start) gate(GOMP_task) gate(GOMP_taskgroup_end) gate(GOMP_taskgroup_reduction_register) \
    gate(GOMP_taskgroup_reduction_unregister) gate(GOMP_taskgroup_start) gate(GOMP_taskloop) gate(GOMP_taskloop_ull) \
    gate(GOMP_taskwait) gate(GOMP_taskwait_depend) gate(GOMP_taskyield) \
    gate(GOMP_workshare_task_reduction_unregister)

// clang-format on
