//! Tables of columns as Parquet files, for pandas, Polars, `DuckDB` and the like; and such a file read back.
//!
//! A file holds flat columns, none of them compressed, each of which may lack values anywhere: in one row group ([`Table::write`]), or
//! in several, one after the other ([`Stream`]). What a column means stands in the file's metadata under the column's name.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::{Type, TypePtr};
use thiserror::Error;

/// Why a file is no table of this program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}: cannot be read as a table: {reason}")]
pub struct ReadError {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// The values of a column, by row; `None` where there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Texts (UTF-8).
    Text(Vec<Option<String>>),
    /// Real numbers, float64.
    Real(Vec<Option<f64>>),
    /// Real numbers, float32. Written, but not read back.
    Single(Vec<Option<f32>>),
    /// Whole numbers that are not negative, 64 bits.
    Whole(Vec<Option<u64>>),
    /// Whole numbers, 64 bits with a sign. Read back as [`Column::Whole`], where none is negative.
    Integer(Vec<Option<i64>>),
    /// Yes or no.
    Flag(Vec<Option<bool>>),
}

impl Column {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(v) => v.len(),
            Self::Real(v) => v.len(),
            Self::Single(v) => v.len(),
            Self::Whole(v) => v.len(),
            Self::Integer(v) => v.len(),
            Self::Flag(v) => v.len(),
        }
    }

    /// True without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn schema(&self, name: &str) -> Result<Type, ParquetError> {
        let of = |physical| Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        match self {
            Self::Text(_) => {
                of(Physical::BYTE_ARRAY).with_converted_type(ConvertedType::UTF8).with_logical_type(Some(LogicalType::String)).build()
            }
            Self::Real(_) => of(Physical::DOUBLE).build(),
            Self::Single(_) => of(Physical::FLOAT).build(),
            Self::Integer(_) => of(Physical::INT64).build(),
            Self::Whole(_) => of(Physical::INT64).with_converted_type(ConvertedType::UINT_64).build(),
            Self::Flag(_) => of(Physical::BOOLEAN).build(),
        }
    }

    fn write(&self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        /// What is there, and for every row whether it is.
        fn split<T, U>(column: &[Option<T>], convert: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
            (column.iter().flatten().map(convert).collect(), column.iter().map(|v| i16::from(v.is_some())).collect())
        }
        match (self, writer) {
            (Self::Text(column), ColumnWriter::ByteArrayColumnWriter(w)) => {
                let (values, levels) = split(column, |t| ByteArray::from(t.as_str()));
                w.write_batch(&values, Some(&levels), None)?;
            }
            (Self::Real(column), ColumnWriter::DoubleColumnWriter(w)) => {
                let (values, levels) = split(column, |x| *x);
                w.write_batch(&values, Some(&levels), None)?;
            }
            (Self::Single(column), ColumnWriter::FloatColumnWriter(w)) => {
                let (values, levels) = split(column, |x| *x);
                w.write_batch(&values, Some(&levels), None)?;
            }
            (Self::Whole(column), ColumnWriter::Int64ColumnWriter(w)) => {
                let (values, levels) = split(column, |n| n.cast_signed());
                w.write_batch(&values, Some(&levels), None)?;
            }
            (Self::Integer(column), ColumnWriter::Int64ColumnWriter(w)) => {
                let (values, levels) = split(column, |n| *n);
                w.write_batch(&values, Some(&levels), None)?;
            }
            (Self::Flag(column), ColumnWriter::BoolColumnWriter(w)) => {
                let (values, levels) = split(column, |b| *b);
                w.write_batch(&values, Some(&levels), None)?;
            }
            _ => return Err(ParquetError::General("the column's type is not that of the schema".to_owned())),
        }
        Ok(())
    }
}

/// Columns of equal length by their names, and what the file says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The columns, in order.
    pub columns: Vec<(String, Column)>,
    /// Keys and texts: the kind of the table, what its columns mean.
    pub metadata: Vec<(String, String)>,
}

impl Table {
    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, c)| c.len())
    }

    /// A column by its name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }

    /// A text of the metadata.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Writes the table as a Parquet file.
    ///
    /// # Errors
    /// If `out` cannot be written to, or columns differ in length.
    pub fn write(&self, out: impl Write + Send) -> io::Result<()> {
        let columns = self.columns.iter().map(|(name, c)| (name.as_str(), c));
        let mut stream = Stream::new(out, columns, &self.metadata)?;
        stream.group(self.columns.iter().map(|(_, c)| c))?;
        stream.finish()
    }

    /// Reads a file that [`Table::write`] wrote (or another program, if its columns are as plain).
    ///
    /// # Errors
    /// If it cannot be read, is no Parquet file, or has columns of other types.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let failed = |reason: String| ReadError { file: path.display().to_string(), reason };
        let file = File::open(path).map_err(|e| failed(e.to_string()))?;
        // A damaged file must not end the program, whatever it is damaged to.
        let read = std::panic::catch_unwind(|| Self::read_file(file));
        read.map_err(|_| failed("it is damaged".to_owned()))?.map_err(|e| failed(e.to_string()))
    }

    fn read_file(file: File) -> Result<Self, ParquetError> {
        let reader = SerializedFileReader::new(file)?;
        let about = reader.metadata().file_metadata();
        let metadata = about.key_value_metadata().into_iter().flatten();
        let metadata = metadata.map(|kv| (kv.key.clone(), kv.value.clone().unwrap_or_default())).collect();
        let mut columns = Vec::new();
        for field in about.schema().get_fields() {
            let basic = field.get_basic_info();
            let plain = field.is_primitive() && (!basic.has_repetition() || basic.repetition() != Repetition::REPEATED);
            let physical = if plain { Some(field.get_physical_type()) } else { None };
            let column = match physical {
                Some(Physical::BYTE_ARRAY) => Column::Text(Vec::new()),
                Some(Physical::DOUBLE) => Column::Real(Vec::new()),
                Some(Physical::INT64) => Column::Whole(Vec::new()),
                Some(Physical::BOOLEAN) => Column::Flag(Vec::new()),
                _ => return Err(ParquetError::General(format!("the column `{}` has a type that is not read here", field.name()))),
            };
            columns.push((field.name().to_owned(), column));
        }
        for row in reader.get_row_iter(None)? {
            for ((name, column), (_, field)) in columns.iter_mut().zip(row?.into_columns()) {
                push(column, field).map_err(|()| ParquetError::General(format!("the column `{name}` mixes types")))?;
            }
        }
        Ok(Self { columns, metadata })
    }
}

/// A Parquet file that is written one row group after the other.
pub struct Stream<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> Stream<W> {
    /// Begins a file whose columns have these names, and the kinds of these columns; what they hold is not written.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn new<'n, 'c>(out: W, columns: impl Iterator<Item = (&'n str, &'c Column)>, metadata: &[(String, String)]) -> io::Result<Self> {
        let begin = || {
            let fields = columns.map(|(name, c)| c.schema(name).map(TypePtr::new)).collect::<Result<Vec<_>, _>>()?;
            let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
            let metadata = metadata.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
            let program = concat!("mnemoscope ", env!("CARGO_PKG_VERSION"));
            let properties = WriterProperties::builder().set_created_by(program.to_owned()).set_key_value_metadata(Some(metadata)).build();
            SerializedFileWriter::new(out, schema, Arc::new(properties))
        };
        Ok(Self { file: begin().map_err(into_io)? })
    }

    /// Writes rows: as many columns as the file has, of equal length.
    ///
    /// # Errors
    /// If the file cannot be written to, or the columns differ in length or in kind from those of the file.
    pub fn group<'a>(&mut self, columns: impl Iterator<Item = &'a Column>) -> io::Result<()> {
        self.write_group(columns).map_err(into_io)
    }

    fn write_group<'a>(&mut self, columns: impl Iterator<Item = &'a Column>) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        let mut rows = None;
        for column in columns {
            if *rows.get_or_insert(column.len()) != column.len() {
                return Err(ParquetError::General("the columns differ in length".to_owned()));
            }
            let Some(mut writer) = group.next_column()? else { break };
            column.write(writer.untyped())?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.finish().map(drop).map_err(into_io)
    }
}

fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => inner.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e),
        other => io::Error::other(other.to_string()),
    }
}

/// Appends a value as it was read.
fn push(column: &mut Column, field: Field) -> Result<(), ()> {
    match (column, field) {
        (Column::Text(c), Field::Str(v)) => c.push(Some(v)),
        (Column::Text(c), Field::Null) => c.push(None),
        (Column::Real(c), Field::Double(v)) => c.push(Some(v)),
        (Column::Real(c), Field::Null) => c.push(None),
        (Column::Whole(c), Field::ULong(v)) => c.push(Some(v)),
        (Column::Whole(c), Field::Long(v)) => c.push(Some(u64::try_from(v).map_err(|_| ())?)),
        (Column::Whole(c), Field::Null) => c.push(None),
        (Column::Flag(c), Field::Bool(v)) => c.push(Some(v)),
        (Column::Flag(c), Field::Null) => c.push(None),
        _ => return Err(()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::write_atomic;

    fn table() -> Table {
        let text = |t: &str| Some(t.to_owned());
        Table {
            columns: vec![
                ("name".to_owned(), Column::Text(vec![text("a, \"b\""), None, text("")])),
                ("x".to_owned(), Column::Real(vec![Some(0.1), Some(f64::INFINITY), None])),
                ("seed".to_owned(), Column::Whole(vec![Some(u64::MAX), None, Some(0)])),
                ("right".to_owned(), Column::Flag(vec![None, Some(true), Some(false)])),
            ],
            metadata: vec![("kind".to_owned(), "test".to_owned())],
        }
    }

    #[test]
    fn a_table_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        write_atomic(&path, |out| table().write(out)).unwrap();
        let back = Table::read(&path).unwrap();
        assert_eq!(back.columns, table().columns);
        assert_eq!((back.meta("kind"), back.rows()), (Some("test"), 3));
        let empty = Table { columns: vec![("x".to_owned(), Column::Real(Vec::new()))], metadata: Vec::new() };
        write_atomic(&path, |out| empty.write(out)).unwrap();
        assert_eq!(Table::read(&path).unwrap().columns, empty.columns);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        for bytes in [&b""[..], b"PAR1", b"a,b\n1,2\n", b"PAR1\x00\x00\x00\x00\xff\xff\xff\x7fPAR1"] {
            std::fs::write(&path, bytes).unwrap();
            let error = Table::read(&path).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: cannot be read as a table: ", path.display())), "{error}");
        }
        write_atomic(&path, |out| table().write(out)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // Any one byte of the file changed: an error or other values, but never the end of the program.
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            std::fs::write(&path, bytes).unwrap();
            let _ = Table::read(&path);
        }
    }

    #[test]
    fn row_groups_follow_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let group =
            |from: u64| [Column::Whole((from..from + 3).map(Some).collect()), Column::Text(vec![None, Some(from.to_string()), None])];
        write_atomic(&path, |out| {
            let kinds = [Column::Whole(Vec::new()), Column::Text(Vec::new())];
            let mut stream = Stream::new(out, ["n", "t"].into_iter().zip(&kinds), &[])?;
            for from in [0, 3, 6] {
                stream.group(group(from).iter())?;
            }
            assert!(stream.group([Column::Real(vec![None]), Column::Text(vec![None])].iter()).is_err(), "another kind");
            Ok(())
        })
        .unwrap();
        write_atomic(&path, |out| {
            let mut stream = Stream::new(out, ["n", "t"].into_iter().zip(&group(0)), &[])?;
            [0, 3, 6].into_iter().try_for_each(|from| stream.group(group(from).iter()))?;
            stream.finish()
        })
        .unwrap();
        let back = Table::read(&path).unwrap();
        assert_eq!(back.column("n"), Some(&Column::Whole((0..9).map(Some).collect())));
        let text = |i: u64| (i % 3 == 1).then(|| (i - 1).to_string());
        assert_eq!(back.column("t"), Some(&Column::Text((0..9).map(text).collect())));
    }

    #[test]
    fn columns_of_different_lengths_are_not_written() {
        let mut table = table();
        table.columns.push(("short".to_owned(), Column::Real(vec![None])));
        assert!(table.write(Vec::new()).is_err());
    }
}
