#!/usr/bin/env python3
"""check.py XML_FOLDER: names each public function, class, type and macro that says nothing of itself, and each function
for which neither its own comment nor its header's says what it costs. Fails if there are any."""
import collections
import glob
import sys
import xml.etree.ElementTree as xml


def text(node, tag):
    found = node.find(tag)
    return '' if found is None else ' '.join(''.join(found.itertext()).split())


def comment(node):
    return text(node, 'briefdescription') + ' ' + text(node, 'detaileddescription')


def main():
    headers, members, classes = {}, {}, []
    for path in sorted(glob.glob(sys.argv[1] + '/*.xml')):
        compound = xml.parse(path).getroot().find('compounddef')
        if compound is None:
            continue
        kind = compound.get('kind')
        if kind == 'file':
            headers[compound.find('location').get('file')] = comment(compound)
        if kind in ('class', 'struct', 'concept', 'union'):
            classes.append(compound)
        for member in compound.iter('memberdef'):
            if member.get('prot') != 'private':
                members.setdefault(member.get('id'), (text(compound, 'compoundname') if kind != 'file' else '', member))
    costs = {header for header, words in headers.items() if 'Cost' in words}
    silent, free = collections.defaultdict(set), collections.defaultdict(set)
    for compound in classes:
        if not comment(compound).strip():
            silent[compound.find('location').get('file')].add(text(compound, 'compoundname'))
    said = collections.defaultdict(str)  # overloads share what the first of them says
    for owner, member in members.values():
        said[(member.find('location').get('file'), owner, text(member, 'name'))] += comment(member)
    for owner, member in members.values():
        name, header = text(member, 'name'), member.find('location').get('file')
        if header is None or '/detail/' in header or name.startswith(('operator', '~')) or name == owner.split('::')[-1]:
            continue
        words = said[(header, owner, name)]
        full = f'{owner}::{name}' if owner else name
        if not words.strip() and member.get('kind') in ('function', 'typedef', 'define', 'enum'):
            silent[header].add(full)
        if member.get('kind') == 'function' and 'Cost' not in words and header not in costs:
            free[header].add(full)
    for what, found in (('says nothing of itself', silent), ('says not what it costs, nor does its header', free)):
        for header, names in sorted(found.items()):
            print(f'{header}: {what}: {", ".join(sorted(names))}')
    print(sum(map(len, silent.values())), 'silent,', sum(map(len, free.values())), 'without a cost')
    return 1 if silent or free else 0


sys.exit(main())
