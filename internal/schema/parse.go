// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/internal/newer"
)

// Fault is a fault in a line of a text.
type Fault struct {
	Line    int
	Message string
}

// ParseLock reads a persist.lock and returns all its faults, or those of its merge
// conflicts alone if it has any. No content is a schema without types.
func ParseLock(content []byte) (*Schema, []Fault) {
	if conflicts := findConflicts(string(content)); len(conflicts) > 0 {
		var faults []Fault
		for _, c := range conflicts {
			faults = append(faults, c.fault())
		}
		return &Schema{}, faults
	}
	p := parser{schema: &Schema{}, remedy: "restore the file from version control"}
	p.parseLines(string(content))
	if err := newer.CheckWrite(p.schema.Needs); err != nil {
		return p.schema, []Fault{{1, err.Error()}}
	}
	if !p.versioned && len(bytes.TrimSpace(content)) > 0 && len(p.faults) == 0 {
		p.addFault("the line \"format 1\" is missing; %s", p.remedy)
	}
	return p.schema, p.faults
}

// ParseType reads the text of a schema of one type and its messages. The error is a
// [newer.Err] if the text needs what this program does not know. If it needs that of programs
// which write only, ParseType passes over lines and options that it does not know:
// the schema serves reading, and must not be written.
func ParseType(text string) (*Schema, error) {
	p := parser{schema: &Schema{}, remedy: "it is not the text of a schema"}
	p.parseLines(text)
	if err := newer.CheckRead(p.schema.Needs); err != nil {
		return nil, err
	}
	if len(p.faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", p.faults[0].Line, p.faults[0].Message)
	}
	if err := p.schema.checkOneType(); err != nil {
		return nil, err
	}
	return p.schema, nil
}

// parser reads a text line by line.
type parser struct {
	schema    *Schema
	block     *Block
	enum      *Enum // in place of the block
	line      int
	versioned bool
	lenient   bool // pass over what is not known: the schema will not be written
	remedy    string
	faults    []Fault
}

func (p *parser) parseLines(text string) {
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if words := strings.Fields(line); len(words) > 0 {
			p.parseLine(line, words)
		}
	}
}

func (p *parser) addFault(format string, args ...any) {
	p.faults = append(p.faults, Fault{p.line, fmt.Sprintf(format, args...)})
}

// parseLine reads one line of words.
func (p *parser) parseLine(line string, words []string) {
	switch word, n := words[0], len(words); {
	case word == "format" && n == 2:
		p.versioned = true
		if words[1] != strconv.Itoa(lockFormat) && words[1] != strconv.Itoa(lockNeedsFormat) {
			p.addFault("format %s was written by a newer persistgen; update the tool", words[1])
		}
	case word == "needs" && p.block == nil && p.enum == nil:
		p.schema.Needs = append(p.schema.Needs, newer.ParseNeeds([]string{strings.Join(words[1:], " ")})...)
		p.lenient = newer.CheckWrite(p.schema.Needs) != nil
	case (word == "type" || word == "message") && (n == 2 || n == 3 && words[2] == "removed"):
		p.beginBlock(&Block{IsType: word == "type", Name: words[1], Removed: n == 3, Line: p.line})
	case word == "type" && n == 4 && words[2] == "removed" && words[3] == confirmed:
		p.beginBlock(&Block{IsType: true, Name: words[1], Removed: true, Confirmed: true, Line: p.line})
	case word == "enum" && n == 2:
		p.beginEnum(&Enum{Name: words[1], Line: p.line})
	case word == "constant" && p.enum != nil:
		p.parseConstant(words)
	case p.block == nil:
		p.addFault("%s stands before any type; %s", strings.Join(words, " "), p.remedy)
	case word == "field" || word == "reserved":
		p.parseField(words)
	case (word == "index" || word == "dropped") && n >= 3:
		p.parseIndex(words)
	default:
		p.parseAttribute(line, words)
	}
}

// parseAttribute reads a line of a block that is there once.
func (p *parser) parseAttribute(line string, words []string) {
	switch word, n := words[0], len(words); {
	case word == "origin" && n == 2:
		p.checkOnce(word, p.block.Origin != "")
		p.block.Origin = words[1]
	case word == "id" && n == 2:
		p.checkOnce(word, p.block.ID != "")
		p.block.ID, p.block.IDLine = words[1], p.line
	case word == "scatter" && n == 2:
		p.checkOnce(word, p.block.Scatter != 0)
		p.parseScatter(words[1])
	case word == "directory" && n >= 2:
		p.checkOnce(word, p.block.Directory != "")
		_, quoted, _ := strings.Cut(line, word)
		p.parseDirectory(strings.TrimSpace(quoted)) // the spaces of a path count
	case !p.lenient:
		p.addFault("%q is not a line of a lock file; %s, or mend the merge", strings.Join(words, " "), p.remedy)
	}
}

// checkOnce reports an attribute that the block has already.
func (p *parser) checkOnce(word string, again bool) {
	if again {
		p.addFault("%s has two lines %s; %s", p.block.Name, word, keepOne)
	}
}

// keepOne is the remedy for two lines of one thing, which a merge made.
const keepOne = "if a merge made this, keep the one that deployed programs store with, or either if none is deployed, and run persistgen"

func (p *parser) beginBlock(b *Block) {
	if first := p.schema.Block(b.Name); first != nil {
		p.addFault("%s is there twice; the first is in line %d; if a merge made this, move the lines that the first lacks there, remove these, and run persistgen", b.Name, first.Line)
	}
	p.block, p.enum = b, nil
	p.schema.Blocks = append(p.schema.Blocks, b)
}

// parseField reads the line of a field.
func (p *parser) parseField(words []string) {
	f := &Field{Reserved: words[0] == "reserved", Line: p.line}
	if f.Reserved && words[len(words)-1] == confirmed {
		f.Confirmed, words = true, words[:len(words)-1]
	}
	if !f.cutOptions(words, p.lenient) {
		p.addFault("%q is not a line of a lock file; %s, or mend the merge", strings.Join(words, " "), p.remedy)
		return
	}
	number, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil || number < MinNumber || number > MaxNumber {
		p.addFault("%s is not a field number", words[1])
		return
	}
	f.Number, f.Name, f.Kind = int32(number), words[2], words[3]
	if p.checkField(f) {
		p.block.Fields = append(p.block.Fields, f)
	}
}

// checkField reports the faults of a field.
func (p *parser) checkField(f *Field) bool {
	for _, kind := range f.allKinds() {
		if _, ok := ParseKind(kind); !ok {
			p.addFault("%s of the field %s is not a kind of this persistgen; update the tool, or %s", kind, f.Name, p.remedy)
			return false
		}
	}
	if _, err := ParseDefault(f.Kind, f.Default); err != nil {
		p.addFault("the default of the field %s: %v; %s", f.Name, err, p.remedy)
		return false
	}
	if first := p.block.ByNumber(f.Number); first != nil && first.Name != f.Name {
		p.addFault("the number %d of %s is that of %s in line %d already; if a merge made this, remove the line of the field that no deployed program has stored yet and run persistgen, which gives it another number",
			f.Number, f.Name, first.Name, first.Line)
		return false
	}
	if first := p.block.Field(f.Name); first != nil {
		p.addFault("the field %s is there twice; the first is in line %d; %s", f.Name, first.Line, keepOne)
		return false
	}
	return true
}

func (p *parser) parseIndex(words []string) {
	x := &Index{Name: words[1], Removed: words[0] == "dropped", Line: p.line}
	if n := len(words) - 1; x.Removed && n > 2 && words[n] == confirmed {
		x.Confirmed, words = true, words[:n]
	}
	x.Signature = strings.Join(words[2:], " ")
	if first := p.block.Index(x.Name); first != nil {
		p.addFault("the index %s is there twice; the first is in line %d; %s", x.Name, first.Line, keepOne)
		return
	}
	p.block.Indexes = append(p.block.Indexes, x)
}

// maxShards is the largest number of shards, as index.Shards has it.
const maxShards = 256

func (p *parser) parseScatter(text string) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 || n > maxShards || n&(n-1) != 0 || strconv.Itoa(n) != text {
		p.addFault("%s is not a number of shards; %s", text, p.remedy)
		return
	}
	p.block.Scatter, p.block.ScatterLine = n, p.line
}

func (p *parser) parseDirectory(quoted string) {
	path, err := strconv.Unquote(quoted)
	if err != nil || path == "" {
		p.addFault("the directory %s is not a quoted string", quoted)
		return
	}
	if slices.ContainsFunc(strings.Split(path, "/"), func(e string) bool { return strings.HasPrefix(e, "{}") }) {
		p.addFault("the directory %s does not say which field each {} is: write {Field} with the fields that stored data was written with", quoted)
		return
	}
	p.block.Directory, p.block.DirectoryLine = path, p.line
}

func (p *parser) beginEnum(e *Enum) {
	if first := p.schema.Enum(e.Name); first != nil {
		p.addFault("%s is there twice; the first is in line %d; if a merge made this, move the lines that the first lacks there, remove these, and run persistgen", e.Name, first.Line)
	}
	p.block, p.enum = nil, e
	p.schema.Enums = append(p.schema.Enums, e)
}

// parseConstant reads the line of a constant.
func (p *parser) parseConstant(words []string) {
	line, n := strings.Join(words, " "), len(words)-1
	c := &Constant{Confirmed: n > 2 && words[n] == confirmed, Line: p.line}
	if c.Confirmed {
		words = words[:n]
	}
	if len(words) < 3 || len(words) > 3 && (words[3] != "was" || len(words) == 4) {
		p.addFault("%q is not a line of a lock file; %s, or mend the merge", line, p.remedy)
		return
	}
	c.Name, c.Value = words[1], words[2]
	if len(words) > 3 {
		c.Was = slices.Clone(words[4:])
	}
	if c.Value == "any" {
		c.Value, c.Any = "", true
	}
	if first := p.enum.Constant(c.Name); first != nil {
		p.addFault("the constant %s is there twice; the first is in line %d; %s", c.Name, first.Line, keepOne)
		return
	}
	p.enum.Constants = append(p.enum.Constants, c)
}

// The lines by which git, and others, mark what they could not merge.
const (
	conflictBegin = "<<<<<<<"
	conflictBase  = "|||||||"
	conflictSides = "======="
	conflictEnd   = ">>>>>>>"
)

// conflict is a part of a file that a merge left with both sides.
type conflict struct {
	begin, end int  // lines; 0 if that marker is missing
	based      bool // the common ancestor's lines are there, too
}

// findConflicts returns the conflicts that are marked in a text.
func findConflicts(text string) (list []conflict) {
	open := conflict{}
	for i, line := range strings.Split(text, "\n") {
		number, marker := i+1, line[:min(len(line), len(conflictBegin))]
		switch {
		case marker == conflictBegin && open.begin != 0:
			list = append(list, open)
			open = conflict{begin: number}
		case marker == conflictBegin:
			open.begin = number
		case marker == conflictBase:
			open.based = true
		case marker == conflictEnd, marker == conflictSides && open.begin == 0:
			open.end = number
			list = append(list, open)
			open = conflict{}
		}
	}
	if open.begin != 0 {
		list = append(list, open)
	}
	return list
}

// fault says what to do about the conflict.
func (c conflict) fault() Fault {
	const thenRun = "and run persistgen, which reports the numbers that both sides gave to different fields"
	switch {
	case c.begin == 0:
		return Fault{c.end, "a marker of a merge is left: delete the line, keep the fields and indexes of both sides, " + thenRun}
	case c.end == 0:
		return Fault{c.begin, "a merge conflict begins here, and its end is missing: keep the lines of both sides, delete the line, " + thenRun}
	}
	markers := fmt.Sprintf("the lines that begin with %s, %s and %s", conflictBegin, conflictSides, conflictEnd)
	if c.based {
		markers += fmt.Sprintf(", and all from %s to %s, which are the common ancestor's", conflictBase, conflictSides)
	}
	return Fault{c.begin, fmt.Sprintf("a merge conflict, to line %d: keep the lines of both sides, delete %s, %s", c.end, markers, thenRun)}
}
