// SPDX-License-Identifier: Apache-2.0

// Package codegen writes the typed stores of annotated structs.
package codegen
