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

	"github.com/kazahana-db/kazahana/internal/schema"
)

// readLock reads the lock of a package. It returns nil after faults: of its
// lines, or that it is lost, which the generated code beside it shows.
func (r *run) readLock(p *pkg, file string) (*schema.Schema, error) {
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("persistgen: read the lock: %w", err)
	}
	generated := p.name + generatedSuffix
	if len(bytes.TrimSpace(content)) == 0 && holdsCode(filepath.Join(p.dir, generated)) {
		r.add(token.Position{Filename: file, Line: 1}, "", "the file is missing or empty, but %s was generated with it: restore it from version control, because without it "+
			"fields get other numbers than the stored ones; where nothing was ever stored, remove %s as well", generated, generated)
		return nil, nil
	}
	return r.parseLock(content, r.relative(file)), nil
}

// holdsCode reports whether a file was written by persistgen.
func holdsCode(file string) bool {
	content, err := os.ReadFile(file)
	return err == nil && isGenerated(content) && len(bytes.TrimSpace(content)) > 0
}

// parseLock parses a lock, and returns nil after faults.
func (r *run) parseLock(content []byte, name string) *schema.Schema {
	lock, faults := schema.ParseLock(content)
	for _, one := range faults {
		r.add(token.Position{Filename: name, Line: one.Line}, "", "%s", one.Message)
	}
	if len(faults) > 0 {
		return nil
	}
	return lock
}

// compareWith compares the next lock of a package with what -against names, if
// the package is sound otherwise.
func (r *run) compareWith(e *evolution) error {
	if r.Against == "" || len(r.list) > 0 {
		return nil
	}
	content, name, err := r.lockAgainst(e.pkg.dir)
	if err != nil {
		return err
	}
	if content == nil {
		e.note("%s has no %s: there is nothing to compare %s with; if the package moved, name the file that it had", r.Against, name, e.lockFile())
		return nil
	}
	if old := r.parseLock(content, name); old != nil {
		e.check(against{old, name})
	}
	return nil
}

// lockAgainst returns the content and the name of the lock that -against names
// for the package in dir; no content if the revision has none.
func (r *run) lockAgainst(dir string) (content []byte, name string, err error) {
	file := r.Against
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.loader.dir, file)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		if len(r.packages) > 1 {
			return nil, "", fmt.Errorf("persistgen: -against %s: the file is the lock of one package, but there are %d: name one package, or a revision", r.Against, len(r.packages))
		}
		content, err := os.ReadFile(file)
		return content, r.relative(file), err
	}
	commit, err := r.git(dir, "rev-parse", "--verify", "--quiet", "--end-of-options", r.Against+"^{commit}")
	if err != nil {
		return nil, "", fmt.Errorf("persistgen: -against %s: it is neither a file nor a commit of git here (in CI, fetch it first): %w", r.Against, err)
	}
	return r.lockAt(dir, strings.TrimSpace(string(commit)))
}

// lockAt is the lock of the package in dir at a commit.
func (r *run) lockAt(dir, commit string) (content []byte, name string, err error) {
	name = r.Against + ":" + r.relative(filepath.Join(dir, lockName))
	listed, err := r.git(dir, "ls-tree", "--name-only", commit, "./"+lockName)
	if err == nil && len(bytes.TrimSpace(listed)) > 0 {
		content, err = r.git(dir, "show", commit+":./"+lockName)
	}
	if err != nil {
		return nil, name, fmt.Errorf("persistgen: -against %s: %w", r.Against, err)
	}
	return content, name, nil
}

// git runs git in a folder and returns its output.
func (r *run) git(dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(r.ctx, "git", args...)
	cmd.Dir = dir
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
