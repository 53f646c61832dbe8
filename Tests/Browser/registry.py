"""The tests, in the order in which they run."""
import functools

TESTS = []


def test(function=None, /, **arguments):
    """Registers a function as a test; with arguments, one for each value of the list that comes with a name."""
    if function is not None:
        TESTS.append(function)
        return function

    def register(function):
        (name, values), = arguments.items()
        for value in values:
            bound = functools.partial(function, **{name: value})
            bound.__name__ = f"{function.__name__}[{value}]"
            TESTS.append(bound)
        return function

    return register
