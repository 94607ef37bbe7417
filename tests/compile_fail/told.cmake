# What must_not_compile.py has written of one case, in the file TOLD: nothing where it is as it must be.
cmake_minimum_required(VERSION 3.25)
file(READ ${TOLD} text)
if(NOT text STREQUAL "")
  message(FATAL_ERROR "${text}")
endif()
