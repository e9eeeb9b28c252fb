// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Checker checks pages of a repository.
type Checker struct {
	root    string
	exports map[string]string // the files of export data, by import path
	fset    *token.FileSet
	types   types.Importer
}

// Load returns a checker that knows the packages which the pages use.
func Load(root string, pages ...*Page) (*Checker, error) {
	c := &Checker{root: root, exports: map[string]string{}, fset: token.NewFileSet()}
	c.types = importer.ForCompiler(c.fset, "gc", c.open)
	paths := map[string]bool{}
	for _, p := range pages {
		for _, b := range p.Blocks {
			if file, err := parseBlock(c.fset, p.Path, b); err == nil {
				for _, spec := range file.Imports {
					path, _ := strconv.Unquote(spec.Path.Value)
					paths[path] = true
				}
			}
		}
	}
	return c, c.list(paths)
}

// list asks the go command, once, for the export data of packages and of all that these import.
func (c *Checker) list(paths map[string]bool) error {
	if len(paths) == 0 {
		return nil
	}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for path := range paths {
		args = append(args, path)
	}
	var out, complaint bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.root, &out, &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go list: %w: %s", err, complaint.String())
	}
	for line := range strings.Lines(out.String()) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		c.exports[path] = file
	}
	return nil
}

func (c *Checker) open(path string) (io.ReadCloser, error) {
	file, ok := c.exports[path]
	if !ok {
		return nil, fmt.Errorf("package %s is not loaded", path)
	}
	return os.Open(file)
}

// Check returns the faults of a page, each with file and line.
func (c *Checker) Check(p *Page) (faults []string) {
	for _, b := range p.Blocks {
		switch {
		case b.NotCompiled != "":
		case b.From != "":
			faults = append(faults, c.compare(p, b)...)
		default:
			faults = append(faults, c.checkTypes(p, b)...)
		}
	}
	return faults
}

// checkTypes returns the faults of a block that is not an excerpt.
func (c *Checker) checkTypes(p *Page, b Block) (faults []string) {
	file, err := parseBlock(c.fset, p.Path, b)
	if err != nil {
		return []string{err.Error()}
	}
	config := types.Config{Importer: c.types, Error: func(err error) {
		if fault, ok := err.(types.Error); !ok || !fault.Soft { // soft: a variable or an import is not used
			faults = append(faults, err.Error())
		}
	}}
	_, _ = config.Check("p", c.fset, []*ast.File{file}, nil) // its error is the first fault
	return faults
}

// compare returns a fault for each paragraph of a block that is not in its program. The tutorial's
// reader has a module of another name.
func (c *Checker) compare(p *Page, b Block) (faults []string) {
	program, err := os.ReadFile(filepath.Join(c.root, b.From))
	if err != nil {
		return []string{fmt.Sprintf("%s:%d: %v", p.Path, b.Line, err)}
	}
	source := inTutorial.Replace(string(program))
	line := b.Line
	for part := range strings.SplitSeq(b.Code, "\n\n") {
		if !strings.Contains("\n"+source, "\n"+strings.Trim(part, "\n")+"\n") {
			faults = append(faults, fmt.Sprintf("%s:%d: this is not in %s:\n%s", p.Path, line, b.From, part))
		}
		line += strings.Count(part, "\n") + 2
	}
	return faults
}

// inTutorial replaces the names of packages by those that the tutorial's reader gives them.
var inTutorial = strings.NewReplacer(
	module+"examples/helpdesk/first", "example.com/helpdesk",
	module+"examples/helpdesk", "example.com/helpdesk",
)
