package instances

import (
	"slices"
	"strconv"
	"strings"

	"aerostat.dev/sdk/types"
)

// Position is a place in one or several lists with numbered pages, one list after the other: what List's cursor stands for in clouds that
// count pages. The cursor holds the page size: another size would shift every page behind it.
type Position struct {
	// List is which one it is in.
	List string
	// Page is its number, from 1 on.
	Page  uint32
	size  uint32
	later []string
}

// PositionOf is where a cursor is in these lists, or their beginning without one. There is at least one list.
func PositionOf(cursor *string, size uint32, lists ...string) (Position, error) {
	if cursor == nil {
		return start(lists, size), nil
	}
	parts := strings.Split(*cursor, ":")
	if at := slices.Index(lists, parts[0]); at >= 0 && len(parts) == 3 {
		position := start(lists[at:], size)
		if page, err := strconv.ParseUint(parts[1], 10, 32); err == nil {
			position.Page = uint32(page)
			if position.cursor() == *cursor {
				return position, nil
			}
		}
	}
	return Position{}, types.Invalidf("cursor %q is not one of a list with %d %s a page", *cursor, size, lists[0])
}

// Next is the cursor of what comes after this page; nil at the end.
func (it Position) Next(isLast bool) *string {
	if !isLast {
		it.Page++
		return new(it.cursor())
	}
	if len(it.later) == 0 {
		return nil
	}
	return new(start(it.later, it.size).cursor())
}

func start(lists []string, size uint32) Position {
	return Position{List: lists[0], Page: 1, size: size, later: lists[1:]}
}

func (it Position) cursor() string {
	return it.List + ":" + strconv.Itoa(int(it.Page)) + ":" + strconv.Itoa(int(it.size))
}
