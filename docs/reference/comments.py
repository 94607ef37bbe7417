#!/usr/bin/env python3
"""comments.py HEADER: the header with its comments as Doxygen reads them; Doxygen calls it for each file.

The house writes plain comments: one that opens a file describes the file; one above a declaration describes that, and
so does one behind it. A comment above a function, alias or macro also holds for those that follow it line upon line, up
to the next comment, blank line, class or variable; each gets a copy, but for operators. What stands in a function's
body is not for the reference.

Words of the house that open a sentence ("pre:", "cost:", "Throws") become paragraphs of their own. What is indented by
two spaces or more is a sample or a table, unless it is a list or goes on with one.
"""
import re
import sys

HOUSE = {'pre': 'Precondition', 'post': 'Postcondition', 'cost': 'Cost', 'Errors': 'Errors', 'Source': 'Source'}
HOUSE_WORD = r'(?:^|(?<=[.;)]) )(%s):(?: |$)' % '|'.join(HOUSE)
NESTED = r'\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)'  # parentheses, two deep


def as_sentences(line, is_first):
    """A line of running text: a paragraph for each word of the house, and nothing that Doxygen takes for a command."""
    parts = re.split(r'(`[^`]*`)', line)
    parts[::2] = [re.sub(r'[<@\\]', r'\\\g<0>', part) for part in parts[::2]]
    line = re.sub(HOUSE_WORD, lambda found: f'\n\n@par {HOUSE[found.group(1)]}\n', ''.join(parts))
    if is_first and line.startswith('Throws'):
        return line
    return re.sub(r'(?:^|(?<=[.)]) )(?=Throws( |$))', '\n\n@par Errors\n', line)


def as_paragraphs(lines):
    """The lines of a comment as those of Doxygen's Markdown."""
    text, in_code, in_list = [], False, False
    for line in lines:
        line = re.sub(r'(?<=/)(?=\*)|(?<=\*)(?=/)', '\u200b', line)  # neither opens nor ends a comment
        is_item = bool(re.match(r' *(\d+\.|-) ', line))
        in_list = is_item or (in_list and (line.startswith('  ') or not line))
        is_code = (line.startswith('  ') and not in_list) or (in_code and not line)
        if is_code != in_code:
            while in_code and not text[-1]:
                text.pop()
            text.append('\n@code{.unparsed}' if is_code else '@endcode')
            in_code = is_code
        if is_code:
            text.append(line[2:])
        else:
            text.append(('\n' if is_item else '  ' if in_list else '') + as_sentences(line.strip(), not text))
    return '\n'.join(text + ['@endcode'] * in_code).strip('\n').split('\n')


def as_comment(indent, lines, is_file=False):
    opening = '/** \\file' if is_file else '/**'
    return [indent + opening] + [(indent + each).rstrip() for each in as_paragraphs(lines)] + [indent + '*/']


def kind_of(head):
    """What a declaration is, by what stands before its body or its end."""
    head = re.sub(r'\[\[.*?\]\]', ' ', head)
    while found := re.search(r'\btemplate\s*<', head):
        depth, end = 1, found.end()
        while end < len(head) and depth:
            depth += {'<': 1, '>': -1}.get(head[end], 0)
            end += 1
        head = head[:found.start()] + head[end:]
    head = ' '.join(head.split())
    head = re.sub(r'^requires ?(%s ?(&& ?)?)+' % NESTED, '', head).strip()
    if re.match(r'(inline )?namespace\b|extern "C"', head):
        return 'namespace'
    if re.match(r'enum\b', head):
        return 'enum'
    if re.match(r'(friend )?(class|struct|union)\b', head) and '(' not in re.sub(r'alignas ?\(\w+\)', '', head):
        return 'class'
    if re.match(r'(public|private|protected)$', head):
        return 'access'
    if re.search(r'\boperator\b|= delete|= default|^~', head):
        return 'operator'
    if re.match(r'using\b', head):
        return 'alias'
    return 'function' if re.match(r'[^={<]*(<[^(]*>[^={<(]*)*\(', head) else 'variable'


class scanner:
    """Follows a header line by line: where declarations begin and end, and of what kind they are."""

    def __init__(self):
        self.scopes = []  # of the braces that are open: namespace, class, enum or body
        self.head, self.depth = '', 0  # the declaration so far, and the parentheses open in it

    def in_body(self):
        return 'body' in self.scopes

    def at_start(self):
        return not self.head.strip() and not self.in_body()

    def end(self):
        kind, self.head = kind_of(self.head), ''
        return [kind]

    def feed(self, line):
        """Takes in a line; returns the kinds of the declarations that end in it, or whose members begin in it."""
        ended = []
        code = re.sub(r'//.*', '', re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', line))
        for at, c in enumerate(code):
            if c == '{':
                kind = kind_of(self.head) if not self.in_body() and not self.depth else 'body'
                self.scopes.append(kind if kind in ('namespace', 'class', 'enum') else 'body')
                if not self.in_body():
                    ended += self.end()
            elif c == '}' and self.scopes:
                closed, follows = self.scopes.pop(), code[at + 1:].strip()[:1]
                if closed in ('class', 'enum') and follows != ';':
                    self.head = ''
                elif closed == 'body' and not self.in_body() and not self.depth and follows not in (';', ',', '{', ')'):
                    ended += self.end()
            elif not self.in_body():
                self.depth += {'(': 1, ')': -1}.get(c, 0)
                if not self.depth and (c == ';' or c == ',' and self.scopes[-1:] == ['enum']):
                    ended += self.end()
                elif c == ':' and self.head.strip() in ('public', 'private', 'protected'):
                    ended += self.end()
                else:
                    self.head += c
        self.head += ' '
        return ended


def convert(source):
    out, scan = [], scanner()
    block, held = [], []  # the comment that is being read; the one that holds for what follows
    is_file, in_macro = True, False  # whether the opening comment is to come; whether a macro goes on
    behind = None  # the column of a comment behind code, which may go on in the next line
    begun = None  # of the declaration that is being read: its first line, and whether a comment stands above that
    for line in source:
        comment = re.match(r'^( *)//(?: (.*)|)$', line)
        if comment and comment.end(1) == behind:
            out[-1] = out[-1][:-2] + comment.group(2) + ' */'
            continue
        behind = None
        if comment and (scan.at_start() or is_file):
            indent = comment.group(1)
            block.append(comment.group(2) or '')
            continue
        has_comment = bool(block) and (is_file or bool(line.strip()))
        if has_comment:
            out += as_comment(indent, block, is_file)
        if has_comment or not line.strip():
            held = block if has_comment and not is_file else []
        is_file, block = is_file and not line.strip(), []
        if scan.at_start() and line.strip():
            begun = (len(out), has_comment)
        ended = ['macro'] if line.startswith('#define') else scan.feed('' if line[:1] == '#' or in_macro else line)
        in_macro = (line[:1] == '#' or in_macro) and line.endswith('\\')
        trailing = re.match(r'^( *[^ }].*?) *// (?!NOLINT)(.*)$', line)
        if trailing and not scan.in_body() and begun:
            behind = line.index('// ')
            out.append(f'{trailing.group(1)}  /**< ' + '\n'.join(as_paragraphs([trailing.group(2)])) + ' */')
        else:
            out.append(re.sub(r'\bexplicit' + NESTED, 'explicit', line))
        if ended and begun:
            if ended[0] not in ('function', 'alias', 'macro', 'operator'):
                held = []
            elif held and ended[0] != 'operator' and not begun[1] and not trailing:
                out[begun[0]:begun[0]] = as_comment('', held)
            begun = None
    return out


def main():
    sys.stdout.write('\n'.join(convert(open(sys.argv[1], encoding='utf-8').read().split('\n'))))


if __name__ == '__main__':
    main()
