// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"golang.org/x/tools/go/packages"
)

// checker type-checks the packages of one load, of which go/packages has read the
// metadata only: each once, after those that it imports, and as many at a time as
// do not need each other. go/packages would check all imports again in every load.
type checker struct {
	*Loader
	roots map[*packages.Package]bool

	mu      sync.Mutex
	checked map[*packages.Package]*checkedPackage
}

// checkedPackage is a package of a load. Those that the patterns name have syntax
// and information, too.
type checkedPackage struct {
	once   sync.Once
	types  *types.Package
	files  []*ast.File
	info   *types.Info
	errors []types.Error // of the type checker
	faults []error       // files that cannot be read or parsed
}

func newChecker(l *Loader, roots []*packages.Package) *checker {
	c := &checker{Loader: l, roots: map[*packages.Package]bool{}, checked: map[*packages.Package]*checkedPackage{}}
	for _, p := range roots {
		c.roots[p] = true
	}
	return c
}

// check returns a package when it and all that it imports are checked.
func (c *checker) check(p *packages.Package) *checkedPackage {
	c.mu.Lock()
	one := c.checked[p]
	if one == nil {
		one = &checkedPackage{}
		c.checked[p] = one
	}
	c.mu.Unlock()
	one.once.Do(func() { c.checkWithImports(p, one) })
	return one
}

// checkWithImports checks a package, or takes it from the dependencies that are kept.
func (c *checker) checkWithImports(p *packages.Package, one *checkedPackage) {
	var group sync.WaitGroup
	for _, imported := range p.Imports {
		group.Go(func() { c.check(imported) })
	}
	group.Wait()
	imports := map[string]*types.Package{"unsafe": types.Unsafe}
	for path, imported := range p.Imports {
		imports[path] = c.check(imported).types
	}
	kept := !c.roots[p] && (p.Module == nil || !p.Module.Main)
	if p.PkgPath == "unsafe" {
		one.types = types.Unsafe
	} else if kept {
		one.types = c.Dependencies.find(p, imports)
	}
	if one.types != nil || c.Ctx.Err() != nil {
		return
	}
	before := stamp(p)
	c.checkFiles(p, one, imports)
	if kept {
		one.types = c.Dependencies.keep(p, one.types, imports, before)
	}
}

// checkFiles parses and type-checks the files of a package.
func (c *checker) checkFiles(p *packages.Package, one *checkedPackage, imports map[string]*types.Package) {
	for _, name := range p.GoFiles {
		file, err := c.parse(name)
		if err != nil {
			one.faults = append(one.faults, err)
		}
		if file != nil {
			one.files = append(one.files, file)
		}
	}
	if c.roots[p] {
		one.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	}
	config := types.Config{
		Sizes:            p.TypesSizes,
		IgnoreFuncBodies: !c.roots[p],
		FakeImportC:      true, // cgo would need a C compiler, and rewrite the files
		Importer: importer(func(path string) (*types.Package, error) {
			if imported := imports[path]; imported != nil {
				return imported, nil
			}
			return nil, fmt.Errorf("no metadata for %s", path)
		}),
		Error: func(err error) {
			if fault, ok := errors.AsType[types.Error](err); ok {
				one.errors = append(one.errors, fault)
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	one.types = types.NewPackage(p.PkgPath, p.Name)
	_ = types.NewChecker(&config, c.Dependencies.fset, one.types, one.info).Files(one.files) // config.Error has the errors
}

// parse parses a file, or what the overlay has in its place.
func (c *checker) parse(name string) (*ast.File, error) {
	content, err := c.read(name)
	if err != nil {
		return nil, err
	}
	return parseFile(c.Dependencies.fset, name, content, c.folders[filepath.Dir(name)])
}

func (c *checker) read(name string) ([]byte, error) {
	for other, content := range c.Overlay {
		if isSameFile(other, name) {
			return content, nil
		}
	}
	return os.ReadFile(name)
}

// isSameFile reports whether two paths name one file, by way of links too.
func isSameFile(a, b string) bool {
	if a == b || filepath.Base(a) != filepath.Base(b) {
		return a == b
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// packageErrors converts the errors of reading and parsing as go/packages does.
func (one *checkedPackage) packageErrors() (list []packages.Error) {
	for _, err := range one.faults {
		if path, ok := errors.AsType[*os.PathError](err); ok {
			list = append(list, packages.Error{Pos: path.Path + ":1", Msg: path.Err.Error(), Kind: packages.ParseError})
			continue
		}
		parsed, _ := errors.AsType[scanner.ErrorList](err)
		for _, fault := range parsed {
			list = append(list, packages.Error{Pos: fault.Pos.String(), Msg: fault.Msg, Kind: packages.ParseError})
		}
	}
	return slices.Clip(list)
}

// importer is a function that finds an imported package.
type importer func(path string) (*types.Package, error)

// Import finds a package by the path that an import names.
func (i importer) Import(path string) (*types.Package, error) { return i(path) }

// parseFile parses a file, without function bodies unless whole is asked for.
func parseFile(fset *token.FileSet, name string, source []byte, whole bool) (*ast.File, error) {
	if whole {
		return parser.ParseFile(fset, name, source, parser.SkipObjectResolution|parser.ParseComments)
	}
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if file == nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			f.Body = &ast.BlockStmt{}
		}
	}
	return file, err
}

// reportErrors records the faults that leave no usable source: files that do not
// parse, imports that are not found. Of packages that are only imported it reports
// those of modules that the user edits, and those that go list found.
func (c *checker) reportErrors(f *diagnostic.List) {
	for p, one := range c.checked {
		list := p.Errors
		if c.roots[p] || isEdited(p.Module) {
			list = append(list[:len(list):len(list)], one.packageErrors()...)
		}
		for _, fault := range list {
			if imported, found := notVendored(fault); found {
				f.Note(c.position(fault, p), "the folder vendor lacks %s, which generated code imports: run go mod vendor", imported)
				continue
			}
			f.Add(c.position(fault, p), "", "%s", oneLine(fault.Msg))
		}
	}
}

// notVendored reports whether generated code imports a package that is not in the folder
// vendor, and which: before the first generation nothing imports it, so go mod vendor
// leaves it out.
func notVendored(fault packages.Error) (path string, found bool) {
	file, _, _ := cutPosition(fault.Pos)
	rest, missing := strings.CutPrefix(fault.Msg, "cannot find module providing package ")
	path, _, lookedUp := strings.Cut(rest, ": ")
	return path, missing && lookedUp && strings.Contains(rest, "-mod=vendor") && strings.HasSuffix(file, output.GeneratedSuffix)
}

// oneLine joins the lines of a message: editors read each line as a fault.
func oneLine(message string) string { return strings.Join(strings.Fields(message), " ") }

// parsePosition reads "file:line:col" as go list writes it: relative to the folder
// in which it runs, or to that of the package.
func parsePosition(text string, dirs ...string) token.Position {
	var at token.Position
	var rest string
	at.Filename, rest, _ = cutPosition(text)
	_, _ = fmt.Sscanf(rest, "%d:%d", &at.Line, &at.Column)
	if filepath.IsAbs(at.Filename) {
		return at
	}
	for _, dir := range dirs {
		if file := filepath.Join(dir, at.Filename); exists(file) {
			at.Filename = file
			return at
		}
	}
	at.Filename = filepath.Join(dirs[len(dirs)-1], filepath.Base(at.Filename))
	return at
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// cutPosition splits a position after ".go".
func cutPosition(text string) (file, rest string, found bool) {
	if i := strings.LastIndex(text, ".go:"); i >= 0 {
		return text[:i+3], text[i+4:], true
	}
	return text, "", false
}
