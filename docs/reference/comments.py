#!/usr/bin/env python3
"""comments.py HEADER: the header with its comments as Doxygen reads them; Doxygen calls it for each file.

The house writes plain comments: one that opens a file describes the file, one above a declaration describes that, one
behind a member describes the member. Words of the house that open a sentence ("pre:", "cost:", "Throws") become
paragraphs of their own. What is indented and no list is code.
"""
import re
import sys


def as_paragraphs(lines):
    """Comment text as Doxygen's Markdown."""
    text, in_code = [], False
    for line in lines:
        is_code = line.startswith('   ') and not re.match(r' +(\d+\.|-) ', line) and not (text and not in_code and re.match(r' +\S', line) and re.match(r' +(\d+\.|-) ', text[-1]))
        if is_code and not in_code:
            text.append('@code{.unparsed}')
        if in_code and not is_code:
            text.append('@endcode')
        in_code = is_code
        if not is_code:
            line = re.sub(r'(^|(?<=[.;] ))(pre|post|cost|Errors|Source|page): ', lambda m: '\n@par %s\n' % m.group(2).capitalize(), line.strip())
            line = re.sub(r'(^|(?<=\. ))(Throws )', r'\n@par Errors\n\2', line)
            line = re.sub(r'<(?=\w)', r'\\<', line)
        text.append(line)
    if in_code:
        text.append('@endcode')
    return '\n'.join(text).split('\n')


def main():
    lines = open(sys.argv[1], encoding='utf-8').read().split('\n')
    out, block, indent, is_first = [], [], '', True
    for line in lines:
        comment = re.match(r'^( *)//(?: (.*)|)$', line)
        if comment:
            indent = comment.group(1)
            block.append((comment.group(2) or ''))
            continue
        if block:
            is_document = is_first or line.strip() != ''
            if is_document:
                opening = '/** \\file' if is_first else '/**'
                out += [indent + opening] + [indent + each for each in as_paragraphs(block)] + [indent + '*/']
            block = []
        if line.strip():
            is_first = False
        trailing = re.match(r'^( +.*[;,{}]|.*[;,])  // (.*)$', line)
        out.append(f'{trailing.group(1)}  /**< {trailing.group(2)} */' if trailing else line)
    sys.stdout.write('\n'.join(out))


main()
