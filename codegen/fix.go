// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"go/ast"
	"go/token"
)

// missingID is a record without an ID field.
type missingID struct {
	at     token.Position
	goName string
	spec   *ast.TypeSpec
}

func (r *run) fix() error { return nil }
