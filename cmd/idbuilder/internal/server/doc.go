// SPDX-License-Identifier: Apache-2.0

// Package server has the commands idbuilder worker and idbuilder controller, which
// serve over HTTP until they are interrupted.
package server
