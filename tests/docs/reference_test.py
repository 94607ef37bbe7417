#!/usr/bin/env python3
"""reference_test.py SOURCE_FOLDER: comments.py puts each comment where it belongs; check.py finds what is silent."""
import os
import subprocess
import sys
import tempfile

HEADER = r'''// Opens the file. cost: all cheap.
#pragma once

namespace a {
// A class: see `x<T>` and x<T>.
//
//   sample(1);   // keeps its form
//   more
template <class T>
  requires(sizeof(T) == 1)
class c {
 public:
  // Of the first and
  // the second. pre: not inside. Throws bad_file where it is.
  void first(int n = f(1), b x = {}) {
    // in a body
    if (n) { again(); }  // and here
  }
  int second() const { return 1; }
  c& operator=(c) noexcept;
  explicit(sizeof(T) != 0) c(T) : x_{1}, y_{2} {}

  void alone();
  int value = 0;      // with a unit,
                      // over two lines
  int other{};
 private:
  int x_;
};
// A detached one, which belongs to nothing.

enum class e { one, two };
using alias = int;  // its own
}  // namespace a
'''

CONVERTED = r'''/** \file
Opens the file.

@par Cost
all cheap.
*/
#pragma once

namespace a {
/**
A class: see `x<T>` and x\<T>.


@code{.unparsed}
sample(1);   // keeps its form
more
@endcode
*/
template <class T>
  requires(sizeof(T) == 1)
class c {
 public:
  /**
  Of the first and
  the second.

  @par Precondition
  not inside.

  @par Errors
  Throws bad_file where it is.
  */
  void first(int n = f(1), b x = {}) {
    // in a body
    if (n) { again(); }  // and here
  }
/**
Of the first and
the second.

@par Precondition
not inside.

@par Errors
Throws bad_file where it is.
*/
  int second() const { return 1; }
  c& operator=(c) noexcept;
/**
Of the first and
the second.

@par Precondition
not inside.

@par Errors
Throws bad_file where it is.
*/
  explicit c(T) : x_{1}, y_{2} {}

  void alone();
  int value = 0;  /**< with a unit, over two lines */
  int other{};
 private:
  int x_;
};

enum class e { one, two };
using alias = int;  /**< its own */
}  // namespace a
'''

MEMBER = '''<memberdef kind="function" id="namespacea_1{0}" prot="public"><name>{0}</name>
<briefdescription>{1}</briefdescription><detaileddescription>{2}</detaileddescription>
<location file="a.h"/></memberdef>'''
COST = '<para><simplesect kind="par"><title>Cost</title><para>a load</para></simplesect></para>'


def compound(kind, name, words, members=''):
    return f'''<doxygen><compounddef kind="{kind}" prot="public"><compoundname>{name}</compoundname>{members}
<briefdescription/><detaileddescription>{words}</detaileddescription><location file="a.h"/></compounddef></doxygen>'''


def check(checker, header_words, members):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (('a.xml', compound('namespace', 'a', '', members)),
                           ('h.xml', compound('file', 'a.h', header_words)),
                           ('c.xml', compound('class', 'a::c&lt;T&gt;', '')), ('index.xml', '<doxygenindex/>')):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)
        run = subprocess.run([sys.executable, checker, folder], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout


def main():
    folder = os.path.join(sys.argv[1], 'docs', 'reference')
    with tempfile.TemporaryDirectory() as scratch:
        header = os.path.join(scratch, 'a.h')
        with open(header, 'w', encoding='utf-8') as file:
            file.write(HEADER)
        converter = os.path.join(folder, 'comments.py')
        made = subprocess.run([sys.executable, converter, header], capture_output=True, text=True, check=True)
    assert made.stdout == CONVERTED, made.stdout

    checker = os.path.join(folder, 'check.py')
    spoken, silent = MEMBER.format('f', 'Says it.', ''), MEMBER.format('g', '', '')
    assert check(checker, '', spoken + silent) == (1, 'a.h: says nothing of itself: a::g\n'
                                                   'a.h: says not what it costs, nor does its header: a::f, a::g\n'
                                                   '2 public names; 1 silent, 2 without a cost\n')
    assert check(checker, COST, spoken) == (0, '1 public names; 0 silent, 0 without a cost\n')
    assert check(checker, '', MEMBER.format('f', 'Says it.', COST))[0] == 0
    assert check(checker, COST, '')[0] == 1  # nothing was looked at


main()
