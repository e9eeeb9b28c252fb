// SPDX-License-Identifier: Apache-2.0

// Package contents lists what the users of the directory layer have stored. Tests
// can compare two databases byte for byte, although the layer chooses its prefixes
// at random:
//
//	a, err := contents.Of(ctx, one, nil)
//	b, err := contents.Of(ctx, other, nil)
//	slices.Equal(a, b)
//
// It reads the layer's format with code of its own; of package directory it uses
// only the name of a partition's layer.
package contents
