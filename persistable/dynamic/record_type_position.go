// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// locate returns the position of the type's store in an open directory. The path must end
// as the schema says; what is before that end does not matter. A store at another path
// has no {Field}s and refuses writes: their values would be lost, or wrong.
func (t *recordType) locate(d *directory.Directory) *position {
	return t.locateAt(d.Path(), d.Layers())
}

// locateAt is locate for the directory at a path whose elements have these layers.
func (t *recordType) locateAt(path, layers []string) *position {
	words := strings.Split(t.root.Directory, "/")
	at := &position{}
	if before := len(path) - len(words); before >= 0 {
		at.addNames(path[:before])
		if t.bindArgs(at, words, path[before:], layers[before:]) {
			return at
		}
	}
	t.args = nil
	at = &position{refusal: &persistable.DirectoryError{
		Type: t.name, Path: path,
		Reason: fmt.Sprintf("the directory of the type is %s, and this path does not end so: the store can only be read; move the directory to such a path", t.root.Directory),
	}}
	at.addNames(path)
	return at
}

// bindArgs adds the elements of the type's directory, and reports whether path and layers
// are as they say.
func (t *recordType) bindArgs(at *position, words, path, layers []string) bool {
	for i, word := range words {
		match := bound.FindStringSubmatch(word)
		if match == nil {
			at.elements = append(at.elements, erased.PathElement{Name: path[i]})
			if word != path[i] {
				return false
			}
			continue
		}
		at.elements = append(at.elements, erased.PathElement{Field: match[1], Layer: match[2]})
		if p, err := t.body.Path(match[1]); err != nil || !isArgument(p, path[i]) || match[2] != "" && match[2] != layers[i] {
			return false
		} else {
			t.args = append(t.args, p)
		}
		at.args = append(at.args, path[i])
	}
	return true
}

// isArgument reports whether a name is the text of a value of the {Field}.
func isArgument(p *message.Path, name string) bool {
	v, err := p.ParseValue(name)
	return err == nil && p.Text(v) == name
}
