// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/token"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// Record is a struct with marker fields.
type Record struct {
	GoName    string
	Name      string // key-stable: the Type marker, or the Go name
	At        token.Position
	Scatter   tags.Scatter
	Message   *Message
	Directory Directory
	IDField   *Field
	IDKind    IDKind
	Indexes   []*Index
	Hooks     []Hook

	Versioned    bool // there is a field of type Version
	VersionAt    token.Position
	VersionField string // the name of that field; "" if it is blank
	Lock         string // what persist.lock says of it
}
