// SPDX-License-Identifier: Apache-2.0

// Package contents shows what the directory layer's users have stored, so that
// tests can compare two databases byte for byte though the layer draws its
// prefixes at random:
//
//	a, err := contents.Of(ctx, one, nil)
//	b, err := contents.Of(ctx, other, nil)
//	slices.Equal(a, b)
//
// It reads the layer's format by itself, without any of its code but the
// name of a partition's layer.
package contents
