// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// Options say what Run does. The zero value generates for the package in the
// working directory.
type Options struct {
	// Dir is the working directory, from which patterns and the file names in
	// messages are relative. Empty is the process's.
	Dir string
	// Patterns name the packages, as for go build. Empty is ".".
	Patterns []string
	// Tags are build tags, separated by commas.
	Tags string

	// Check writes nothing: what is out of date is printed as a unified diff,
	// and Run returns ErrOutOfDate.
	Check bool
	// Against is a git revision or a file. A checking Run also compares each
	// package's lock with the one that it had in that revision, or that is in the
	// file, and refuses what the data stored since then would not survive: for CI,
	// where the lock beside the source is the one that was just generated.
	Against string
	// Fix inserts an ID field where it is missing, before generating.
	Fix bool
	// Explain prints what each generated method costs, and writes nothing.
	Explain bool
	// Proto also writes <package>.proto.
	Proto bool

	// Graph prints the types, their directories and indexes as a graph in this language,
	// GraphMermaid or GraphDOT, and writes nothing. With GraphInto it is the language there.
	Graph string
	// GraphInto is a Markdown file, relative to Dir. Run also writes the graph into it,
	// between the lines <!-- persistgen:graph --> and <!-- /persistgen:graph -->.
	GraphInto string
	// Poll is the interval in which Watch looks at the files, for file systems without
	// events, as over a network. 0 is for events. Run does not use it.
	Poll time.Duration

	// Stdout receives diffs and explanations, Stderr notes. nil discards.
	Stdout, Stderr io.Writer

	// Command sets it where go generate runs it in the folder of a package: names of
	// files in messages are absolute, because an editor runs go generate elsewhere.
	absolute bool

	// Tests set these: the environment of the go command and of git, nil for the
	// process's, and what earlier runs loaded.
	env          []string
	dependencies *source.Dependencies
}

// The languages of graphs.
const (
	GraphMermaid = "mermaid" // https://mermaid.js.org, a flowchart
	GraphDOT     = "dot"     // https://graphviz.org
)

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Check && o.Fix {
		faults = append(faults, errors.New("persistgen: -check writes nothing, but -fix does: give one of them"))
	}
	if o.Against != "" && !o.Check {
		faults = append(faults, errors.New("persistgen: -against goes with -check"))
	}
	if o.Explain && (o.Check || o.Fix || o.Proto) {
		faults = append(faults, errors.New("persistgen: -explain only prints: remove -check, -fix and -proto"))
	}
	if !slices.Contains([]string{"", GraphMermaid, GraphDOT}, o.Graph) {
		faults = append(faults, fmt.Errorf("persistgen: -graph=%s: draw it in mermaid or in dot", o.Graph))
	}
	if o.printsGraph() && (o.Check || o.Fix || o.Proto || o.Explain) {
		faults = append(faults, errors.New("persistgen: -graph only prints: remove -check, -fix, -proto and -explain, or give -graph-into"))
	}
	if o.Explain && o.GraphInto != "" {
		faults = append(faults, errors.New("persistgen: -explain only prints: remove -graph-into"))
	}
	if o.Poll < 0 {
		faults = append(faults, fmt.Errorf("persistgen: the interval %s of -poll is negative", o.Poll))
	}
	if slices.Contains(o.Patterns, "") {
		faults = append(faults, errors.New("persistgen: a package pattern is empty"))
	}
	return errors.Join(faults...)
}

// printsGraph reports whether the graph is printed, and nothing else done.
func (o Options) printsGraph() bool { return o.Graph != "" && o.GraphInto == "" }

// ErrOutOfDate is returned by a checking Run where generated files or the lock
// file differ from what would be written.
var ErrOutOfDate = errors.New("persistgen: generated files are out of date: run go generate and commit the result")
