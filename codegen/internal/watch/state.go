// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Scope says which files are watched, by absolute paths.
type Scope struct {
	Trees   []string // source files in these folders and below, where the go command looks for packages
	Folders []string // source files in these folders
	Files   []string // any other files
}

// Add adds what another scope has besides.
func (s *Scope) Add(other Scope) {
	add := func(to *[]string, list []string) {
		*to = append(*to, list...)
		slices.Sort(*to)
		*to = slices.Compact(*to)
	}
	add(&s.Trees, other.Trees)
	add(&s.Folders, other.Folders)
	add(&s.Files, other.Files)
}

// isSource reports whether the file of a name decides what is generated.
func isSource(name string) bool {
	switch name {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "persist.lock":
		return true
	}
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name[0] != '.' && name[0] != '_'
}

// isSkipped reports whether "..." in a pattern of packages does not match a folder of
// that name. The go command does match node_modules, which has many folders and no Go.
func isSkipped(name string) bool {
	return name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor" || name == "node_modules"
}

// isModule reports whether a folder has a go.mod: it begins another module.
func isModule(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "go.mod" && !e.IsDir() })
}

// existing is the folder itself, or the nearest one above it that exists.
func existing(folder string, exists func(string) bool) string {
	for !exists(folder) && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
	}
	return folder
}

// State is the content of the files of a scope at one time: a digest by path.
type State map[string]Digest

// Digest identifies the content of a file, or why it could not be read.
type Digest [sha256.Size]byte

// With returns the state of a scope in which these files have another content: nil for
// those that are removed. Files outside of the scope, such as a written .proto, stay outside.
func (s State) With(files map[string][]byte, scope Scope) State {
	next := maps.Clone(s)
	for path, content := range files {
		switch {
		case !isSource(filepath.Base(path)) && !slices.Contains(scope.Files, path):
		case content == nil:
			delete(next, path)
		default:
			next[path] = sha256.Sum256(content)
		}
	}
	return next
}

// trustAfter is the age at which the time of a file's last change tells it apart from
// a later change: some file systems count in steps of two seconds.
const trustAfter = 2 * time.Second

// digests remembers the digests of files with what the file system said of them.
type digests map[string]digestOf

type digestOf struct {
	info   os.FileInfo
	at     time.Time // when the content was read
	digest Digest
}

// of returns the digest of a file. It reads the content if the file system does not
// show that it is the same as last time.
func (d digests) of(path string) (Digest, bool) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		delete(d, path)
		return Digest{}, false
	}
	if known, found := d[path]; found && known.isCurrent(info) {
		return known.digest, true
	}
	now := time.Now()
	d[path] = digestOf{info, now, sha256.Sum256(contentOf(path, info))}
	return d[path].digest, true
}

// contentOf returns the content of a file, or what stands for it: an irregular file, such as a
// named pipe, is not opened, since that may wait for another program.
func contentOf(path string, info os.FileInfo) []byte {
	if !info.Mode().IsRegular() {
		return []byte(info.Mode().Type().String())
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	return content
}

// isCurrent reports whether a file that is as info says still has that content.
func (d digestOf) isCurrent(info os.FileInfo) bool {
	return os.SameFile(info, d.info) && info.Size() == d.info.Size() && info.ModTime().Equal(d.info.ModTime()) &&
		d.at.Sub(info.ModTime()) > trustAfter
}
