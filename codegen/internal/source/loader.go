// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"golang.org/x/tools/go/packages"
)

// Loader loads packages. Generated files are replaced by stubs, or, in a second
// load, by what is to be written.
type Loader struct {
	Ctx      context.Context
	Dir      string
	Tags     string
	Patterns []string
	Overlay  map[string][]byte
	Env      []string // of the go command; nil is the process's

	// Dependencies are those of earlier loads. A loader without makes its own.
	Dependencies *Dependencies

	// Workspace is what a Check found that may change while persistgen runs.
	Workspace Workspace

	folders map[string]bool // those of the packages: function bodies are checked there only
}

func (l *Loader) config(mode packages.LoadMode) *packages.Config {
	config := &packages.Config{Context: l.Ctx, Dir: l.Dir, Mode: mode, Overlay: l.Overlay, Env: l.Env}
	if l.Tags != "" {
		config.BuildFlags = []string{"-tags=" + l.Tags}
	}
	return config
}

// PrepareStubs lists the packages without reading their source and prepares the stubs.
func (l *Loader) PrepareStubs(f *diagnostic.List) (map[string][]string, error) {
	l.Overlay = map[string][]byte{}
	ours := map[string][]string{}
	dirs := map[string]bool{l.Dir: true}
	l.folders = dirs
	found, err := packages.Load(l.config(packages.NeedName|packages.NeedFiles), l.Patterns...)
	if err != nil {
		return nil, l.reportModuleErrors("list packages", err, f)
	}
	active := map[string]bool{}
	for _, p := range found {
		if p.Dir != "" {
			dirs[p.Dir] = true
		}
		for _, file := range p.GoFiles {
			dirs[filepath.Dir(file)] = true
			active[file] = true
		}
	}
	for dir := range dirs {
		files, err := stubs(dir, l.Overlay)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if active[file] || brokenClause(file) {
				ours[dir] = append(ours[dir], file)
			}
		}
	}
	return ours, nil
}

// Check type-checks the packages with the present overlay, and reports the faults
// that leave some of them unusable. Function bodies of other packages are left out:
// only their declarations matter.
func (l *Loader) Check(ours map[string][]string, f *diagnostic.List) ([]*Package, error) {
	found, err := packages.Load(l.config(packages.NeedName|packages.NeedFiles|packages.NeedImports|
		packages.NeedDeps|packages.NeedTypesSizes|packages.NeedModule), l.Patterns...)
	if err != nil {
		return nil, l.reportModuleErrors("load packages", err, f)
	}
	if l.Dependencies == nil {
		l.Dependencies = NewDependencies()
	}
	l.Workspace = findWorkspace(found)
	c := newChecker(l, found)
	var list []*Package
	for _, p := range found {
		one := c.check(p)
		if err := l.Ctx.Err(); err != nil {
			return nil, fmt.Errorf("persistgen: load packages: %w", err)
		}
		list = append(list, newPackage(p, one, l.Dependencies.fset, ours))
	}
	c.reportErrors(f)
	if len(f.Faults) > 0 || slices.ContainsFunc(list, func(p *Package) bool { return !p.Unusable }) {
		return list, nil
	}
	patterns := strings.Join(l.Patterns, " ")
	if len(list) > 0 {
		return nil, fmt.Errorf("persistgen: %s has no Go files but tests; move types with persist tags into a file that is not a test", patterns)
	}
	return nil, fmt.Errorf("persistgen: no Go packages match %s", patterns)
}

// LeftOut returns what files of the packages and of the folders of patterns such as ./...
// declare that the load left out.
func (l *Loader) LeftOut(loaded []*Package) (list []LeftOut) {
	dirs := map[string]bool{}
	for _, p := range loaded {
		dirs[p.Dir] = true
		list = append(list, p.LeftOut...)
	}
	for _, pattern := range l.Patterns {
		if dir, found := strings.CutSuffix(pattern, "..."); found && (dir == "" || build.IsLocalImport(dir)) {
			list = append(list, leftOutBelow(filepath.Join(l.Dir, dir), dirs)...)
		}
	}
	return list
}

// moduleError is a line of go list about a go.mod or go.work.
var moduleError = regexp.MustCompile(`(?m)^(.*\bgo\.(?:mod|work)):(\d+)(?::(\d+))?: (.+)$`)

// reportModuleErrors records what go list says about lines of go.mod and go.work. It
// returns any other error.
func (l *Loader) reportModuleErrors(doing string, err error, f *diagnostic.List) error {
	if err == nil {
		return nil
	}
	if ended := l.Ctx.Err(); ended != nil {
		return fmt.Errorf("persistgen: %s: %w", doing, ended)
	}
	found := moduleError.FindAllStringSubmatch(err.Error(), -1)
	for _, words := range found {
		at := token.Position{Filename: words[1]}
		if !filepath.IsAbs(at.Filename) {
			at.Filename = filepath.Join(l.Dir, at.Filename)
		}
		_, _ = fmt.Sscan(words[2], &at.Line)
		_, _ = fmt.Sscan(words[3], &at.Column)
		f.Add(at, "", "%s", strings.TrimSpace(words[4]))
	}
	if len(found) == 0 {
		return fmt.Errorf("persistgen: %s: %w", doing, err)
	}
	return nil
}

// position is where an error of go list is: in the file that it names, or at the
// beginning of the package.
func (l *Loader) position(one packages.Error, p *packages.Package) token.Position {
	if one.Pos != "" && one.Pos != "-" {
		return parsePosition(one.Pos, l.Dir, p.Dir)
	}
	for _, files := range [][]string{p.GoFiles, p.IgnoredFiles, p.OtherFiles} {
		if len(files) > 0 {
			return token.Position{Filename: files[0], Line: 1}
		}
	}
	return token.Position{Filename: p.Dir}
}

// stubs finds the generated files in dir, whatever their content, adds an empty
// file for each to overlay, and returns them.
func stubs(dir string, overlay map[string][]byte) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+output.GeneratedSuffix))
	if err != nil {
		return nil, fmt.Errorf("persistgen: list %s: %w", dir, err)
	}
	var ours []string
	for _, file := range files {
		old, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("persistgen: read the old output: %w", err)
		}
		if output.IsGenerated(old) {
			overlay[file] = stub(old, packageClause(dir, file))
			ours = append(ours, file)
		}
	}
	return ours, nil
}

// stub returns the file that replaces a generated one while its package is loaded:
// its build constraint and its package clause.
func stub(old []byte, name string) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(old) {
		if bytes.HasPrefix(line, []byte("//go:build ")) {
			b.Write(bytes.TrimRight(line, "\r\n"))
			b.WriteString("\n\n")
		}
		if bytes.HasPrefix(line, []byte("package ")) {
			break
		}
	}
	b.WriteString("package " + name + "\n")
	return b.Bytes()
}

// packageClause returns the package name of the folder's files other than the
// generated one.
func packageClause(dir, generated string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, output.GeneratedSuffix) {
			continue
		}
		if match, err := build.Default.MatchFile(dir, filepath.Base(file)); err == nil && !match {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err == nil {
			return f.Name.Name
		}
	}
	return strings.TrimSuffix(filepath.Base(generated), output.GeneratedSuffix)
}

// brokenClause reports whether a file's package clause does not parse: then go list
// does not count the file as part of the package.
func brokenClause(file string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
	return err != nil
}

// Workspace is what may change while persistgen runs: the folders of the packages that were
// loaded, and of those that they import, with their modules, as far as these are the main
// module or replaced by a folder.
type Workspace struct {
	Folders []string
	Modules []Module
}

// Module is a module by its path, its folder and its go.mod.
type Module struct{ Path, Dir, File string }

// findWorkspace looks through the packages and their imports.
func findWorkspace(found []*packages.Package) Workspace {
	folders, modules := map[string]bool{}, map[string]Module{}
	packages.Visit(found, nil, func(p *packages.Package) {
		if m := p.Module; isEdited(m) {
			modules[m.Path] = Module{m.Path, m.Dir, m.GoMod}
			if p.Dir != "" {
				folders[p.Dir] = true
			}
		}
	})
	e := Workspace{Folders: slices.Sorted(maps.Keys(folders))}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		e.Modules = append(e.Modules, modules[path])
	}
	return e
}

// isEdited reports whether the files of a module may change while persistgen runs:
// those of the main module and of the modules that a folder replaces.
func isEdited(m *packages.Module) bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

// stamp tells versions of a package apart, by the times and sizes of its files. It is
// empty for packages with files that do not change.
func stamp(p *packages.Package) string {
	if !isEdited(p.Module) {
		return ""
	}
	var b strings.Builder
	for _, file := range p.GoFiles {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintln(&b, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}

// Dependencies keeps the packages that loaded packages import, type-checked, so
// that the next load need not check them again. It keeps only packages of the standard
// library and of other modules: their files do not change between two loads, or, where
// a folder replaces a module, their times and sizes show that they did. Several loaders
// may share it, and use it concurrently.
type Dependencies struct {
	fset *token.FileSet // one for all, because packages name positions in it

	mu   sync.Mutex
	kept map[string]dependency // by path and files
}

// dependency is a package with those that it imports: it is good only for a load
// that has the same ones.
type dependency struct {
	types   *types.Package
	imports map[string]*types.Package
	stamp   string
}

// NewDependencies returns an empty set.
func NewDependencies() *Dependencies {
	return &Dependencies{fset: token.NewFileSet(), kept: map[string]dependency{}}
}

// find returns the package if it is kept with the same imports, or nil.
func (d *Dependencies) find(p *packages.Package, imports map[string]*types.Package) *types.Package {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one, found := d.kept[dependencyKey(p)]; found && maps.Equal(one.imports, imports) && one.stamp == stamp(p) {
		return one.types
	}
	return nil
}

// keep keeps a package that had that stamp before it was read, unless another load kept
// it first with the same imports. It returns the one that is kept.
func (d *Dependencies) keep(p *packages.Package, t *types.Package, imports map[string]*types.Package, stamp string) *types.Package {
	if first := d.find(p, imports); first != nil {
		return first
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[dependencyKey(p)] = dependency{t, imports, stamp}
	return t
}

// IsLarge reports whether the positions of all files that were read take so much memory
// that it is time to begin with an empty set: those of former versions stay.
func (d *Dependencies) IsLarge() bool { return d.fset.Base() > 256<<20 }

func dependencyKey(p *packages.Package) string {
	return p.PkgPath + "\x00" + strings.Join(p.GoFiles, "\x00")
}
