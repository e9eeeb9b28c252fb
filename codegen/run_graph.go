// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/codegen/internal/graph"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// drawGraph returns the graph of all packages, in the language of the options.
func (r *run) drawGraph() (language string, text []byte) {
	g := graph.New(r.packages)
	if language = cmp.Or(r.options.Graph, GraphMermaid); language == GraphDOT {
		return language, g.DOT()
	}
	return language, g.Mermaid()
}

func (r *run) printGraph() error {
	_, text := r.drawGraph()
	if _, err := r.options.Stdout.Write(text); err != nil {
		return fmt.Errorf("persistgen: print the graph: %w", err)
	}
	return nil
}

// insertGraph makes the Markdown file an output, if there is one to write.
func (r *run) insertGraph() error {
	file := r.options.GraphInto
	if file == "" || len(r.faults.Faults) > 0 {
		return nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.loader.Dir, file)
	}
	markdown, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("persistgen: -graph-into: %w", err)
	}
	language, text := r.drawGraph()
	content, err := graph.Insert(output.UnixLines(markdown), language, text)
	if fault, ok := errors.AsType[*graph.MarkerError](err); ok {
		r.faults.Add(token.Position{Filename: file, Line: fault.Line}, "", "%s", fault.Message)
		return nil
	}
	r.outputs = append(r.outputs, output.File{Path: file, Content: content})
	return err
}
