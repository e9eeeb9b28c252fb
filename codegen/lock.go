// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lockName is the name of the lock file beside a package's source.
const lockName = "persist.lock"

// lockHeader opens a lock file.
const lockHeader = `# The field numbers and keys that stored data depends on. Written by persistgen.
# Commit this file with the source; do not edit what data was written with.
format 1
`

// lock is the content of a persist.lock: what older versions of the package
// stored, and under which numbers and keys.
type lock struct {
	blocks []*lockBlock
}

// lockBlock is one type or nested message.
type lockBlock struct {
	isType    bool
	name      string
	id        string // kind of the ID; types only
	directory string // shape of the path; types only
	scatter   int    // shards of the records, 0 for none; types only
	removed   bool   // no longer in the source; its data may still be there
	line      int
	idLine    int
	fields    []*lockField
	indexes   []*lockIndex

	directoryLine int
	scatterLine   int
}

// lockField is a field number in use, or reserved because it was.
type lockField struct {
	number   int32
	name     string
	kind     string
	reserved bool
	line     int
}

// lockIndex is an index, or one that was.
type lockIndex struct {
	name      string // as in keys
	signature string
	removed   bool
	line      int
}

// block returns the block of a type or message, or nil.
func (l *lock) block(name string) *lockBlock {
	for _, b := range l.blocks {
		if b.name == name {
			return b
		}
	}
	return nil
}

func (b *lockBlock) field(name string) *lockField {
	for _, f := range b.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (b *lockBlock) byNumber(number int32) *lockField {
	for _, f := range b.fields {
		if f.number == number {
			return f
		}
	}
	return nil
}

func (b *lockBlock) index(name string) *lockIndex {
	for _, x := range b.indexes {
		if x.name == name {
			return x
		}
	}
	return nil
}

// format writes the lock: blocks by name, fields by number, indexes by name.
func (l *lock) format() []byte {
	var out bytes.Buffer
	out.WriteString(lockHeader)
	blocks := slices.SortedFunc(slices.Values(l.blocks), func(a, b *lockBlock) int { return cmp.Compare(a.name, b.name) })
	for _, b := range blocks {
		b.format(&out)
	}
	return out.Bytes()
}

func (b *lockBlock) format(out *bytes.Buffer) {
	word := "message"
	if b.isType {
		word = "type"
	}
	removed := ""
	if b.removed {
		removed = " removed"
	}
	fmt.Fprintf(out, "\n%s %s%s\n", word, b.name, removed)
	if b.id != "" {
		fmt.Fprintf(out, "\tid %s\n", b.id)
	}
	if b.directory != "" {
		fmt.Fprintf(out, "\tdirectory %s\n", strconv.Quote(b.directory))
	}
	if b.scatter != 0 {
		fmt.Fprintf(out, "\tscatter %d\n", b.scatter)
	}
	slices.SortFunc(b.fields, func(x, y *lockField) int { return cmp.Compare(x.number, y.number) })
	for _, f := range b.fields {
		word := "field"
		if f.reserved {
			word = "reserved"
		}
		fmt.Fprintf(out, "\t%s %d %s %s\n", word, f.number, f.name, f.kind)
	}
	slices.SortFunc(b.indexes, func(x, y *lockIndex) int { return cmp.Compare(x.name, y.name) })
	for _, x := range b.indexes {
		word := "index"
		if x.removed {
			word = "dropped"
		}
		fmt.Fprintf(out, "\t%s %s %s\n", word, x.name, x.signature)
	}
}

// lockFault is a fault in a line of a lock file.
type lockFault struct {
	line    int
	message string
}

// parseLock reads a lock file and returns all its faults.
func parseLock(content []byte) (*lock, []lockFault) {
	p := &lockParser{lock: &lock{}}
	for i, line := range strings.Split(string(content), "\n") {
		p.line = i + 1
		if hash := strings.IndexByte(line, '#'); hash >= 0 && strings.TrimSpace(line[:hash]) == "" {
			continue
		}
		if words := strings.Fields(line); len(words) > 0 {
			p.read(words)
		}
	}
	if !p.versioned && len(bytes.TrimSpace(content)) > 0 && len(p.faults) == 0 {
		p.fail("the line \"format 1\" is missing; restore the file from version control")
	}
	return p.lock, p.faults
}

// lockParser reads a lock file line by line.
type lockParser struct {
	lock      *lock
	block     *lockBlock
	line      int
	versioned bool
	faults    []lockFault
}

func (p *lockParser) fail(format string, args ...any) {
	p.faults = append(p.faults, lockFault{p.line, fmt.Sprintf(format, args...)})
}

// read reads one line of words.
func (p *lockParser) read(words []string) {
	switch word, n := words[0], len(words); {
	case word == "format" && n == 2:
		p.versioned = true
		if words[1] != "1" {
			p.fail("format %s was written by a newer persistgen; update the tool", words[1])
		}
	case (word == "type" || word == "message") && (n == 2 || n == 3 && words[2] == "removed"):
		p.begin(&lockBlock{isType: word == "type", name: words[1], removed: n == 3, line: p.line})
	case p.block == nil:
		p.fail("%s stands before any type; restore the file from version control", strings.Join(words, " "))
	case (word == "field" || word == "reserved") && n == 4:
		p.field(words)
	case (word == "index" || word == "dropped") && n >= 3:
		p.index(words)
	case word == "id" && n == 2:
		p.block.id, p.block.idLine = words[1], p.line
	case word == "scatter" && n == 2:
		p.scatter(words[1])
	case word == "directory" && n >= 2:
		p.directory(strings.Join(words[1:], " "))
	default:
		p.fail("%q is not a line of a lock file; restore the file from version control, or mend the merge", strings.Join(words, " "))
	}
}

func (p *lockParser) begin(b *lockBlock) {
	if first := p.lock.block(b.name); first != nil {
		p.fail("%s is there twice; the first is in line %d; mend the merge", b.name, first.line)
	}
	p.block = b
	p.lock.blocks = append(p.lock.blocks, b)
}

func (p *lockParser) field(words []string) {
	number, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil || number < idNumber || number > maxNumber {
		p.fail("%s is not a field number", words[1])
		return
	}
	f := &lockField{number: int32(number), name: words[2], kind: words[3], reserved: words[0] == "reserved", line: p.line}
	if first := p.block.byNumber(f.number); first != nil {
		p.fail("the number %d of %s is that of %s in line %d already; if a merge made this, remove the field whose data was not written yet and run persistgen",
			f.number, f.name, first.name, first.line)
		return
	}
	if first := p.block.field(f.name); first != nil && !first.reserved && !f.reserved {
		p.fail("the field %s is there twice; the first is in line %d; mend the merge", f.name, first.line)
		return
	}
	p.block.fields = append(p.block.fields, f)
}

func (p *lockParser) index(words []string) {
	x := &lockIndex{name: words[1], signature: strings.Join(words[2:], " "), removed: words[0] == "dropped", line: p.line}
	if first := p.block.index(x.name); first != nil {
		p.fail("the index %s is there twice; the first is in line %d; mend the merge", x.name, first.line)
		return
	}
	p.block.indexes = append(p.block.indexes, x)
}

func (p *lockParser) scatter(text string) {
	s, message := parseScatter(word{value: text})
	if message != "" {
		p.fail("%s is not a number of shards; restore the file from version control", text)
		return
	}
	p.block.scatter, p.block.scatterLine = s.shards, p.line
}

func (p *lockParser) directory(quoted string) {
	path, err := strconv.Unquote(quoted)
	if err != nil {
		p.fail("the directory %s is not a quoted string", quoted)
		return
	}
	p.block.directory, p.block.directoryLine = path, p.line
}
