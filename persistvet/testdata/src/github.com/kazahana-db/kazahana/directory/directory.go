// SPDX-License-Identifier: Apache-2.0

// Package directory has the declarations of package directory that the tests of
// analyzers need.
package directory

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

type Expect struct{}

type Directory struct{}

func (d *Directory) Path() []string { return nil }

func (d *Directory) Prefix() ([]byte, error) { return nil, nil }

type Layer struct{}

func Root() *Layer { return nil }

func (l *Layer) CreateOrOpen(ctx context.Context, t kv.Transactor, path []string, expects ...Expect) (*Directory, error) {
	return nil, nil
}
