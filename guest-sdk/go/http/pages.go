package http

import (
	"encoding/json"
	"fmt"
	"strconv"

	"aerostat.dev/sdk/types"
)

// PageEnd is the way in which a page says that it is the last.
type PageEnd uint8

const (
	// PageEndNext: the field says which page follows, and is null or not there on the last one. Without a field every page is the last.
	PageEndNext PageEnd = iota
	// PageEndPages: the field is the number of all pages.
	PageEndPages
	// PageEndItems: the field is the number of all items.
	PageEndItems
	// PageEndNotFull: no field. A list that ends with a full page takes one request more.
	PageEndNotFull
)

// NumberedPages is how a cloud numbers the pages of its lists.
type NumberedPages struct {
	// Number and Size are the query's names for the number of the page and for its size: "page" and "per_page".
	Number, Size string
	// Smallest and Largest are how many items a page can be asked for. Smaller pages are parts of one that is asked for with a multiple
	// of their size.
	Smallest, Largest uint32
	// Next leads to the field that End is about.
	Next []string
	End  PageEnd
}

// Page reads the page with this number, of size items at most, which the answer shows in a field, and says whether it is the last. A
// count that is not there is an error: a list must not end because a field is called otherwise.
func Page[T any](pages NumberedPages, request *Call, items string, number, size uint32) (page []T, isLast bool, err error) {
	size = min(max(size, 1), pages.Largest)
	parts := max((pages.Smallest+size-1)/size, 1)
	whole := min(size*parts, pages.Largest)
	before, part := (number-1)/parts, (number-1)%parts
	page, isLast, err = read[T](pages, request, items, before+1, whole)
	if err != nil {
		return nil, false, err
	}
	// The last part has the rest, also where the cloud shows more than it was asked for.
	page = page[min(int(part*size), len(page)):]
	if part+1 < parts && len(page) > int(size) {
		return page[:size], false, nil
	}
	return page, isLast, nil
}

// All reads all pages. A list that was read in part is an error.
func All[T any](pages NumberedPages, request *Call, items string) ([]T, error) {
	var all []T
	for number := uint32(1); ; number++ {
		page, isLast, err := read[T](pages, request, items, number, pages.Largest)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); isLast {
			return all, nil
		}
	}
}

func read[T any](pages NumberedPages, request *Call, items string, number, size uint32) ([]T, bool, error) {
	numbered := *request
	numbered.request.Query = append(append([][2]string{}, request.request.Query...),
		[2]string{pages.Number, text(number)}, [2]string{pages.Size, text(size)})
	response, err := numbered.Answer()
	if err != nil {
		return nil, false, err
	}
	var fields map[string]json.RawMessage
	if err := numbered.read(response, &fields); err != nil {
		return nil, false, err
	}
	unreadable := func(why any) error {
		return types.Unavailablef("%s: %d with an answer that cannot be read: %v", numbered.asked(), response.Status, why)
	}
	list, isThere := fields[items]
	if !isThere {
		return nil, false, unreadable(fmt.Sprintf("it has no %s", items))
	}
	var page []T
	if err := json.Unmarshal(list, &page); err != nil {
		return nil, false, unreadable(err)
	}
	isLast, err := pages.isLast(response.Body, number, size, len(page))
	if err != nil {
		return nil, false, unreadable(err)
	}
	return page, isLast, nil
}

func (it NumberedPages) isLast(body []byte, number, size uint32, items int) (bool, error) {
	switch it.End {
	case PageEndNotFull:
		return items < int(size), nil
	case PageEndNext:
		next := field(body, it.Next)
		if next == nil || len(it.Next) == 0 || next == "" || next == false || next == float64(0) {
			return true, nil
		}
		if next == float64(number) {
			return false, fmt.Errorf("the list does not end: after page %d comes the same page", number)
		}
		return false, nil
	}
	count, is := field(body, it.Next).(float64)
	switch {
	case !is:
		return false, fmt.Errorf("%v is no number", it.Next)
	case it.End == PageEndPages:
		return float64(number) >= count, nil
	default:
		// An empty page before the end would be asked for without end.
		return float64(number)*float64(size) >= count || items == 0, nil
	}
}

func text(number uint32) string { return strconv.FormatUint(uint64(number), 10) }
