// SPDX-License-Identifier: Apache-2.0

// Package persistimpl has the declarations of package persistimpl that the tests of
// analyzers need.
package persistimpl

import (
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

type Schema struct {
	Lock    string
	Type    string
	Indexes []Index
	Values  func(field string, b []byte, record any) []byte
}

type Index struct {
	Name      string
	Kind      string
	Fields    []string
	Unique    bool
	Where     string
	Sparse    []string
	Signature string
}

func SetID(schema *Schema, record any) {}

func TryNew[T, ID any](s *persistable.Store[T, ID], schema *Schema, record any) error { return nil }

func Must(err error) {}

func NewStore[T, ID any](db *persistable.DB, schema *Schema, args ...string) persistable.Store[T, ID] {
	return persistable.Store[T, ID]{}
}

func NewField[F any](name string, encode func([]byte, F) []byte) erased.Field[F] {
	return erased.Field[F]{}
}
