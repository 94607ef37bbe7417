// The version of these headers. CMake, pkg-config and `situ --version` read it from here.
//
// Versions are semantic; before 1.0 a minor version may change the interface.
#pragma once

// The version in three numbers.
#define SITU_VERSION_MAJOR 0
#define SITU_VERSION_MINOR 1
#define SITU_VERSION_PATCH 0

// One number, for comparisons: `#if SITU_VERSION >= 102` is 0.1.2 or later.
#define SITU_VERSION (SITU_VERSION_MAJOR * 10000 + SITU_VERSION_MINOR * 100 + SITU_VERSION_PATCH)

#define SITU_DETAIL_TEXT_OF(number) #number
#define SITU_DETAIL_VERSION_TEXT(major, minor, patch) \
  SITU_DETAIL_TEXT_OF(major) "." SITU_DETAIL_TEXT_OF(minor) "." SITU_DETAIL_TEXT_OF(patch)
// As text: "0.1.0".
#define SITU_VERSION_STRING SITU_DETAIL_VERSION_TEXT(SITU_VERSION_MAJOR, SITU_VERSION_MINOR, SITU_VERSION_PATCH)
