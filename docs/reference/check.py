#!/usr/bin/env python3
"""check.py XML_FOLDER: holds the public names against the reference, as Doxygen wrote it. Each class, function, type,
macro and variable must say what it is (overloads share what one of them says), and each function what it costs: in its
own comment, its class's or its header's. Names those that do not, and fails if there are any.

Not asked: constructors, guides for deduction and operators; members that are variables; specialisations, which are what
their template is."""
import collections
import glob
import sys
import xml.etree.ElementTree as xml

CLASSES = ('class', 'struct', 'union', 'concept')
DESCRIPTIONS = ('briefdescription', 'detaileddescription')
MEMBERS = ('function', 'typedef', 'enum', 'define', 'variable')


def name_of(node):
    return node.findtext('compoundname') or node.findtext('name')


def words_of(node):
    return ''.join(''.join(node.find(tag).itertext()) for tag in DESCRIPTIONS).strip()


def tells_cost(node):
    return any(title.text == 'Cost' for tag in DESCRIPTIONS for title in node.find(tag).iter('title'))


def is_asked(owner, member, classes):
    name, kind = name_of(member), member.get('kind')
    if '<' in owner or '<' in name or kind not in MEMBERS or member.get('prot') != 'public' or '@' in name:
        return False
    if kind == 'function':
        is_guide = f'{owner}::{name}' in classes
        return not is_guide and not name.startswith(('operator', '~')) and name != owner.split('::')[-1]
    return kind != 'variable' or not member.get('id').startswith(('class', 'struct', 'union'))


def main():
    compounds = [xml.parse(path).getroot().find('compounddef') for path in glob.glob(sys.argv[1] + '/*.xml')]
    compounds = [each for each in compounds if each is not None]
    headers_with_cost = {each.find('location').get('file') for each in compounds
                         if each.get('kind') == 'file' and tells_cost(each)}
    classes = {name_of(each) for each in compounds if each.get('kind') in CLASSES}
    silent, free, asked = collections.defaultdict(set), collections.defaultdict(set), 0
    overloads = collections.defaultdict(list)
    for compound in compounds:
        is_class, owner = compound.get('kind') in CLASSES, name_of(compound)
        if is_class and '<' not in owner and compound.get('prot', 'public') == 'public':
            asked += 1
            if not words_of(compound):
                silent[compound.find('location').get('file')].add(owner)
        if is_class or compound.get('kind') in ('namespace', 'file'):
            for member in compound.iter('memberdef'):
                place = '' if compound.get('kind') == 'file' else owner
                if is_asked(place, member, classes):
                    header = member.find('location').get('file')
                    has_cost = header in headers_with_cost or (is_class and tells_cost(compound))
                    overloads[header, f'{place}::{name_of(member)}'.removeprefix('::')].append((member, has_cost))
    for (header, name), members in overloads.items():
        asked += 1
        if not any(words_of(member) for member, _ in members):
            silent[header].add(name)
        if members[0][0].get('kind') == 'function' and not any(cost or tells_cost(member) for member, cost in members):
            free[header].add(name)
    for what, found in (('says nothing of itself', silent), ('says not what it costs, nor does its header', free)):
        for header, names in sorted(found.items()):
            print(f'{header}: {what}: {", ".join(sorted(names))}')
    counts = [sum(map(len, found.values())) for found in (silent, free)]
    print(f'{asked} public names; {counts[0]} silent, {counts[1]} without a cost')
    return 1 if silent or free or not asked else 0


sys.exit(main())
