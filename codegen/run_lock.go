// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/lock"
	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// readLock reads the lock of a package. It returns nil after faults: of its
// lines, or that it is lost, which the generated code beside it shows.
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
	if content == nil {
		e.Note(token.Position{}, "%s has no %s: there is nothing to compare %s with; if the package moved, name the file that it had", r.options.Against, name, e.LockFile())
		return nil
	}
	if old := r.parseLock(content, name); old != nil {
		e.Check(lock.Predecessor{Lock: old, Name: name})
	}
	return nil
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
	return r.lockAt(dir, strings.TrimSpace(string(commit)))
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
