// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is a fault in a line of a text.
type Fault struct {
	Line    int
	Message string
}

// ParseLock reads a persist.lock and returns all its faults. No content is a
// schema without types.
func ParseLock(content []byte) (*Schema, []Fault) {
	p := parser{schema: &Schema{}, remedy: "restore the file from version control"}
	p.lines(string(content))
	if !p.versioned && len(bytes.TrimSpace(content)) > 0 && len(p.faults) == 0 {
		p.fail("the line \"format 1\" is missing; %s", p.remedy)
	}
	return p.schema, p.faults
}

// ParseType reads the text of a schema of one type and its messages.
func ParseType(text string) (*Schema, error) {
	p := parser{schema: &Schema{}, remedy: "it is not the text of a schema"}
	p.lines(text)
	if len(p.faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", p.faults[0].Line, p.faults[0].Message)
	}
	if err := p.schema.oneType(); err != nil {
		return nil, err
	}
	return p.schema, nil
}

// oneType checks that there is one type, and every message that is referred to.
func (s *Schema) oneType() error {
	types := slices.DeleteFunc(slices.Clone(s.Blocks), func(b *Block) bool { return !b.IsType })
	if len(types) != 1 {
		return fmt.Errorf("there are %d types; a schema has one", len(types))
	}
	if len(types[0].Fields) == 0 {
		return errors.New("the type has no field")
	}
	for _, b := range s.Blocks {
		for _, f := range b.Fields {
			if k, _ := ParseKind(f.Kind); k.Base == "message" && s.Block(k.Arg) == nil {
				return fmt.Errorf("line %d: there is no message %s", f.Line, k.Arg)
			}
		}
	}
	return nil
}

// parser reads a text line by line.
type parser struct {
	schema    *Schema
	block     *Block
	line      int
	versioned bool
	remedy    string
	faults    []Fault
}

func (p *parser) lines(text string) {
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if words := strings.Fields(line); len(words) > 0 {
			p.read(words)
		}
	}
}

func (p *parser) fail(format string, args ...any) {
	p.faults = append(p.faults, Fault{p.line, fmt.Sprintf(format, args...)})
}

// read reads one line of words.
func (p *parser) read(words []string) {
	switch word, n := words[0], len(words); {
	case word == "format" && n == 2:
		p.versioned = true
		if words[1] != "1" {
			p.fail("format %s was written by a newer persistgen; update the tool", words[1])
		}
	case (word == "type" || word == "message") && (n == 2 || n == 3 && words[2] == "removed"):
		p.begin(&Block{IsType: word == "type", Name: words[1], Removed: n == 3, Line: p.line})
	case p.block == nil:
		p.fail("%s stands before any type; %s", strings.Join(words, " "), p.remedy)
	case word == "field" || word == "reserved":
		p.field(words)
	case (word == "index" || word == "dropped") && n >= 3:
		p.index(words)
	default:
		p.attribute(words)
	}
}

// attribute reads a line of a block that is there once.
func (p *parser) attribute(words []string) {
	switch word, n := words[0], len(words); {
	case word == "origin" && n == 2:
		p.block.Origin = words[1]
	case word == "id" && n == 2:
		p.block.ID, p.block.IDLine = words[1], p.line
	case word == "scatter" && n == 2:
		p.scatter(words[1])
	case word == "directory" && n >= 2:
		p.directory(strings.Join(words[1:], " "))
	default:
		p.fail("%q is not a line of a lock file; %s, or mend the merge", strings.Join(words, " "), p.remedy)
	}
}

func (p *parser) begin(b *Block) {
	if first := p.schema.Block(b.Name); first != nil {
		p.fail("%s is there twice; the first is in line %d; mend the merge", b.Name, first.Line)
	}
	p.block = b
	p.schema.Blocks = append(p.schema.Blocks, b)
}

// field reads the line of a field.
func (p *parser) field(words []string) {
	if n := len(words); n < 4 || n > 4 && (words[4] != "was" || n == 5) {
		p.fail("%q is not a line of a lock file; %s, or mend the merge", strings.Join(words, " "), p.remedy)
		return
	}
	number, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil || number < MinNumber || number > MaxNumber {
		p.fail("%s is not a field number", words[1])
		return
	}
	f := &Field{Number: int32(number), Name: words[2], Kind: words[3], Reserved: words[0] == "reserved", Line: p.line}
	if len(words) > 5 {
		f.Was = slices.Clone(words[5:])
	}
	if p.sound(f) {
		p.block.Fields = append(p.block.Fields, f)
	}
}

// sound reports the faults of a field.
func (p *parser) sound(f *Field) bool {
	for _, kind := range f.kinds() {
		if _, ok := ParseKind(kind); !ok {
			p.fail("%s of the field %s is not a kind of this persistgen; update the tool, or %s", kind, f.Name, p.remedy)
			return false
		}
	}
	if first := p.block.ByNumber(f.Number); first != nil {
		p.fail("the number %d of %s is that of %s in line %d already; if a merge made this, remove the field whose data was not written yet and run persistgen",
			f.Number, f.Name, first.Name, first.Line)
		return false
	}
	if first := p.block.Field(f.Name); first != nil {
		p.fail("the field %s is there twice; the first is in line %d; mend the merge", f.Name, first.Line)
		return false
	}
	return true
}

func (p *parser) index(words []string) {
	x := &Index{Name: words[1], Signature: strings.Join(words[2:], " "), Removed: words[0] == "dropped", Line: p.line}
	if first := p.block.Index(x.Name); first != nil {
		p.fail("the index %s is there twice; the first is in line %d; mend the merge", x.Name, first.Line)
		return
	}
	p.block.Indexes = append(p.block.Indexes, x)
}

// maxShards is the largest number of shards, as index.Shards has it.
const maxShards = 256

func (p *parser) scatter(text string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 || n > maxShards || n&(n-1) != 0 || strconv.Itoa(n) != text {
		p.fail("%s is not a number of shards; %s", text, p.remedy)
		return
	}
	p.block.Scatter, p.block.ScatterLine = n, p.line
}

func (p *parser) directory(quoted string) {
	path, err := strconv.Unquote(quoted)
	if err != nil || path == "" {
		p.fail("the directory %s is not a quoted string", quoted)
		return
	}
	if slices.ContainsFunc(strings.Split(path, "/"), func(e string) bool { return strings.HasPrefix(e, "{}") }) {
		p.fail("the directory %s does not say which field each {} is: write {Field} with the fields that stored data was written with", quoted)
		return
	}
	p.block.Directory, p.block.DirectoryLine = path, p.line
}
