// SPDX-License-Identifier: Apache-2.0

// Package ryw holds what a transaction needs of the engine below it.
package ryw
