# Test programs with places that do not run on modelled machines, or not on all of them, and why.
situ_not_modelled(graph_seams_test "it stands behind the seams of a modelled machine itself")
situ_not_modelled(imsuite_kernels_test "it solves full inputs; model_execution_test runs the kernels on modelled places")
situ_not_modelled(imsuite_run_test "it starts programs and reads what they print")
situ_not_modelled(process_test "it is about places that are processes, and fork")
foreach(test IN ITEMS far_test hosts_test delivery_test)
  situ_not_modelled(${test} "a modelled machine is one host")
endforeach()
situ_not_modelled(am_misuse_test "a misused message ends a process, so that its places fork")
situ_not_modelled(function_id_test "it loads modules, whose code has no hooks, and forks")
situ_not_modelled(array_hdf5_test "HDF5's own code has no hooks, and the files are the host's")
situ_not_modelled(stack_test "its stacks overflow in places that fork, and a crash ends a modelled run")
situ_not_modelled(staged_memories_test "it moves pages between the host's memories")
situ_not_modelled(completion_test "several places put into one line at a time: each writes back the whole line" MACHINES checked CASES "*of_a_batch_come_together*")
set(situ_whole_lines "places write into one line at a time: each writes back the whole line")
situ_not_modelled(place_graph_test "its places fork" MACHINES flat nemesys CASES "place_graph.whoever_waits_is_told_of_a_place_that_dies")
situ_not_modelled(place_graph_test "its places fork; ${situ_whole_lines}" MACHINES checked
  CASES "place_graph.whoever_waits_is_told_of_a_place_that_dies" "*.random_programs_have_the_bits_of_one_unit_after_the_other/*")
situ_not_modelled(place_tree_test "its places fork" MACHINES flat nemesys CASES "place_tree_loss.*")
situ_not_modelled(place_tree_test "its places fork; ${situ_whole_lines}" MACHINES checked
  CASES "place_tree_loss.*" "*.rows_lie_and_bodies_run_at_the_child/*")
situ_not_modelled(wait_test "its bound is one of the host's clock" CASES "*sees_a_plain_put_within_a_millisecond*")
situ_not_modelled(heap_moves_test "threads that wait for each other's sections, in turns on one core: minutes of the host's time" MACHINES nemesys checked
  CASES "*.of_threads_that_allocate_go_with_collections/*" "*heap_together.*")
situ_not_modelled(heap_moves_test "threads that wait for each other's sections, in turns on one core; one run of some hundred did not end" MACHINES flat
  CASES "*heap_together.*")
situ_not_modelled(squeak_places_test "it loads a whole image for each case, all of whose accesses would be modelled; the study manycore-heap runs it"
  MACHINES flat nemesys checked CASES "*squeak_image_at_places.*" "*squeak_hashes.*")
