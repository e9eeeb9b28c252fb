// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/lock"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// readLock reads the lock of a package. It returns nil after it has reported faults:
// those of the lines, or a lost lock, where generated code exists without one.
func (r *run) readLock(p *model.Package, file string) (*schema.Schema, error) {
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("persistgen: read the lock: %w", err)
	}
	generated := p.Name + output.GeneratedSuffix
	if len(bytes.TrimSpace(content)) == 0 && holdsCode(filepath.Join(p.Dir, generated)) {
		r.faults.Add(token.Position{Filename: file, Line: 1}, "", "the file is missing or empty, but %s was generated with it: restore it from version control, because without it "+
			"fields get other numbers than the stored ones; where nothing was ever stored, remove %s as well", generated, generated)
		return nil, nil
	}
	return r.parseLock(content, r.faults.Relative(file)), nil
}

// holdsCode reports whether a file was written by persistgen.
func holdsCode(file string) bool {
	content, err := os.ReadFile(file)
	return err == nil && output.IsGenerated(content) && len(bytes.TrimSpace(content)) > 0
}

// parseLock parses a lock, and returns nil after faults.
func (r *run) parseLock(content []byte, name string) *schema.Schema {
	lock, faults := schema.ParseLock(content)
	lines := bytes.Split(content, []byte("\n"))
	for _, one := range faults {
		line := lines[one.Line-1]
		column := 1 + len(line) - len(bytes.TrimLeft(line, " \t"))
		r.faults.Add(token.Position{Filename: name, Line: one.Line, Column: column}, "", "%s", one.Message)
	}
	if len(faults) > 0 {
		return nil
	}
	return lock
}

// reportMovedHere refuses types that are new to the lock of the package where another lock of the module
// has them, and its source is gone from there: their fields would silently get other numbers than the
// stored ones.
func (r *run) reportMovedHere(p *model.Package, old *schema.Schema) {
	for _, record := range p.Records {
		if old.Block(record.Name) != nil {
			continue
		}
		if r.locks == nil {
			r.locks = locksOfModule(p.Dir)
		}
		for _, file := range slices.Sorted(maps.Keys(r.locks)) {
			b := r.locks[file].Block(record.Name)
			if b == nil || !b.IsType || b.Confirmed || b.Directory != record.Directory.StoredPath() || filepath.Dir(file) == p.Dir || declaresType(filepath.Dir(file), b.Name) {
				continue
			}
			r.faults.Add(record.At, record.GoName, "%s:%d has the type %s, which no source there declares, and this package's %s has not: if the type moved here, copy its block, with the messages and enums that it names, or its fields get other numbers than the stored ones; "+
				"otherwise make that line \"type %s removed confirmed\", or give this type another name with persistable.Type", r.faults.Relative(file), b.Line, b.Name, lock.FileName, b.Name)
		}
	}
}

// locksOfModule returns the locks of the module that a folder belongs to, by file, as far as they can be
// read.
func locksOfModule(dir string) map[string]*schema.Schema {
	root := dir
	for !isFile(filepath.Join(root, "go.mod")) {
		if root == filepath.Dir(root) {
			return map[string]*schema.Schema{}
		}
		root = filepath.Dir(root)
	}
	locks := map[string]*schema.Schema{}
	_ = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error { // what cannot be read holds no package either
		switch name := filepath.Base(file); {
		case err != nil:
		case d.IsDir() && file != root && (name == "vendor" || name == "testdata" || name[0] == '.' || name[0] == '_' || isFile(filepath.Join(file, "go.mod"))):
			return fs.SkipDir
		case name == lock.FileName:
			content, _ := os.ReadFile(file)
			if s, faults := schema.ParseLock(content); len(faults) == 0 {
				locks[file] = s
			}
		}
		return nil
	})
	return locks
}

// declaresType reports whether the source in a folder declares a struct that is stored under a name.
func declaresType(dir, name string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	found := false
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, output.GeneratedSuffix) {
			continue
		}
		parsed, _ := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if parsed == nil {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				found = found || n.Name.Name == name
			case *ast.Field:
				found = found || n.Tag != nil && markerName(n.Tag.Value) == name
			}
			return !found
		})
	}
	return found
}

// markerName returns the first word of the persist tag in a literal.
func markerName(literal string) string {
	tag, _ := strconv.Unquote(literal)
	word, _, _ := strings.Cut(reflect.StructTag(tag).Get("persist"), ",")
	return word
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// compareWith compares the next lock of a package with what -against names, if
// the package is sound otherwise.
func (r *run) compareWith(e *lock.Evolution) error {
	if r.options.Against == "" || len(r.faults.Faults) > 0 {
		return nil
	}
	content, name, err := r.lockAgainst(e.Package.Dir)
	if err != nil {
		return err
	}
	old := &schema.Schema{}
	if content != nil {
		if old = r.parseLock(content, name); old == nil {
			return nil
		}
		e.Check(lock.Predecessor{Lock: old, Name: name})
	}
	moved, err := r.compareMoved(e, old)
	if err == nil && content == nil && !moved {
		e.Note(token.Position{}, "%s has no %s: there is nothing to compare %s with; if the package moved, name the file that it had", r.options.Against, name, e.LockFile())
	}
	return err
}

// compareMoved compares the types that the package did not have at the revision, old being its
// lock then, and another package had. It reports whether there are any.
func (r *run) compareMoved(e *lock.Evolution, old *schema.Schema) (moved bool, err error) {
	for _, record := range e.Package.Records {
		if r.commit == "" || old.Block(record.Name) != nil {
			continue
		}
		if r.left == nil {
			if r.left, err = r.leftAt(e.Package.Dir); err != nil {
				return false, fmt.Errorf("persistgen: -against %s: %w", r.options.Against, err)
			}
		}
		for _, p := range r.left {
			moved = e.CheckMoved(p, record) || moved
		}
	}
	return moved, nil
}

// leftAt returns the locks at the commit without the types that are still in the lock at the same
// place.
func (r *run) leftAt(dir string) ([]lock.Predecessor, error) {
	top, err := r.git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	files, err := r.git(dir, "ls-tree", "-r", "-z", "--full-tree", "--name-only", r.commit)
	if err != nil {
		return nil, err
	}
	list := []lock.Predecessor{} // not nil, even if there are none
	for name := range strings.SplitSeq(string(files), "\x00") {
		if path.Base(name) != lock.FileName {
			continue
		}
		content, err := r.git(dir, "show", r.commit+":"+name)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(strings.TrimSpace(string(top)), filepath.FromSlash(name))
		if then, faults := schema.ParseLock(content); len(faults) == 0 {
			list = append(list, lock.Predecessor{Lock: withoutTypesOf(then, file), Name: r.options.Against + ":" + r.faults.Relative(file)})
		}
	}
	return list, nil
}

// withoutTypesOf returns a lock without the types that are in a file, which need not exist.
func withoutTypesOf(then *schema.Schema, file string) *schema.Schema {
	content, err := os.ReadFile(file)
	if err != nil {
		return then
	}
	now, faults := schema.ParseLock(content)
	if len(faults) > 0 {
		return then
	}
	left := *then
	left.Blocks = slices.DeleteFunc(slices.Clone(then.Blocks), func(b *schema.Block) bool {
		is := now.Block(b.Name)
		return b.IsType && is != nil && !is.Removed
	})
	return &left
}

// checkCompared returns an error if the caller wants a comparison and no package has
// types. A step of CI with the wrong packages would never fail otherwise.
func (r *run) checkCompared() error {
	if r.options.Against == "" || len(r.packages) > 0 {
		return nil
	}
	return fmt.Errorf("persistgen: -against %s: nothing was compared, because no type in %s has the annotations of persistgen: name the packages that have some, or ./... for all below this directory",
		r.options.Against, strings.Join(r.options.Patterns, " "))
}

// lockAgainst returns the content and the name of the lock that -against names
// for the package in dir; no content if the revision has none.
func (r *run) lockAgainst(dir string) (content []byte, name string, err error) {
	file := r.options.Against
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.loader.Dir, file)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		if len(r.packages) > 1 {
			return nil, "", fmt.Errorf("persistgen: -against %s: the file is the lock of one package, but there are %d: name one package, or a revision", r.options.Against, len(r.packages))
		}
		content, err := os.ReadFile(file)
		return content, r.faults.Relative(file), err
	}
	commit, err := r.git(dir, "rev-parse", "--verify", "--quiet", "--end-of-options", r.options.Against+"^{commit}")
	if err != nil {
		return nil, "", fmt.Errorf("persistgen: -against %s: it is neither a file nor a commit of git here (in CI, fetch it first): %w", r.options.Against, err)
	}
	r.commit = strings.TrimSpace(string(commit))
	return r.lockAt(dir, r.commit)
}

// lockAt is the lock of the package in dir at a commit.
func (r *run) lockAt(dir, commit string) (content []byte, name string, err error) {
	name = r.options.Against + ":" + r.faults.Relative(filepath.Join(dir, lock.FileName))
	listed, err := r.git(dir, "ls-tree", "--name-only", commit, "./"+lock.FileName)
	if err == nil && len(bytes.TrimSpace(listed)) > 0 {
		content, err = r.git(dir, "show", commit+":./"+lock.FileName)
	}
	if err != nil {
		return nil, name, fmt.Errorf("persistgen: -against %s: %w", r.options.Against, err)
	}
	return content, name, nil
}

// git runs git in a folder and returns its output.
func (r *run) git(dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(r.loader.Ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, r.options.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, text)
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}
