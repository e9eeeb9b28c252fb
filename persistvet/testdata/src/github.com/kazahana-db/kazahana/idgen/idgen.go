// SPDX-License-Identifier: Apache-2.0

// Package idgen has the declarations of package idgen that the tests of analyzers need.
package idgen

import "context"

type ID int64

type Generator interface {
	Next(ctx context.Context) (ID, error)
}

func NewID() ID { return 0 }

func Must[T any](id T, err error) T { return id }
