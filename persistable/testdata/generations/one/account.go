// SPDX-License-Identifier: Apache-2.0

// Package one is the first generation of a type.
package one

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Account is the type as its first program had it.
type Account struct {
	_ persistable.Type      `persist:"Account"`
	_ persistable.Directory `persist:"accounts"`

	ID    idgen.ID
	Email string `persist:"unique"`
	Plan  string `persist:"index"`
	Level int32
	Name  string
	Note  string
	Tags  []string `persist:"index"`
}
